SELECT host, cause, culprit, harm_s, requests, failures, waiting_s, share_pct, first_minute, last_minute
FROM findings_by_host WHERE share_pct >= 1 OR failures > 0 ORDER BY harm_s DESC, host, cause, culprit;
