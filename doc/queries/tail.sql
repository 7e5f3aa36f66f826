SELECT host, stage, mean_ms, near
FROM tail_by_host WHERE class = 'all' AND percentile = 'p99' AND of_total = 1 AND mean_ms >= 1
ORDER BY host, mean_ms DESC;
