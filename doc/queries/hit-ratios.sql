SELECT host, dhr_pct, bhr_pct, dhr_of AS requests FROM hit_ratios_by_host ORDER BY dhr_pct;
