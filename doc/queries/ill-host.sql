SELECT host, cause, mean_ms / greatest(others_ms, 1) AS times, mean_ms, others_ms, share_pct, beyond
FROM (SELECT e.host, e.cause, e.beyond, e.share_pct, e.mean_ms,
    coalesce((sum(e.mean_ms) OVER (PARTITION BY e.cause) - e.mean_ms)
        / nullif(count(*) OVER (PARTITION BY e.cause) - 1, 0), 0) AS others_ms
    FROM evidence_by_host e) c
WHERE mean_ms >= others_ms + 1 ORDER BY beyond DESC, times DESC, host, cause;
