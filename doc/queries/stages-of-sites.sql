SELECT site, stage, share_pct, p50_ms, p99_ms
FROM stages_by_site WHERE class = 'all' AND of_total = 1 AND share_pct >= 10 ORDER BY site, share_pct DESC;
