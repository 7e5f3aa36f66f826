SELECT setting, of_now_pct, hosts, hit_ratio_pct, byte_hit_ratio_pct, measured_pct
FROM cache_sizes ORDER BY setting, of_now_pct;
