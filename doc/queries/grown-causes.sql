SELECT c.cause, c.hosts, 1e3 * c.this_s / nullif(a.this_requests, 0) AS this_week_s,
    1e3 * c.last_s / nullif(a.last_requests, 0) AS last_week_s, c.this_s, c.last_s
FROM (SELECT d.cause, count(DISTINCT d.host) AS hosts,
    sum(CASE WHEN d.day > n.newest - 7 THEN d.harm_s ELSE 0 END) AS this_s,
    sum(CASE WHEN d.day <= n.newest - 7 THEN d.harm_s ELSE 0 END) AS last_s
    FROM finding_days_by_host d CROSS JOIN (SELECT max(day) AS newest FROM finding_days) n
    WHERE d.cause <> 'all' AND d.day > n.newest - 14 GROUP BY d.cause) c
CROSS JOIN (SELECT sum(CASE WHEN d.day > n.newest - 7 THEN d.requests ELSE 0 END) AS this_requests,
    sum(CASE WHEN d.day <= n.newest - 7 THEN d.requests ELSE 0 END) AS last_requests
    FROM finding_days d CROSS JOIN (SELECT max(day) AS newest FROM finding_days) n
    WHERE d.cause = 'all' AND d.day > n.newest - 14) a
ORDER BY coalesce(1e3 * c.this_s / nullif(a.this_requests, 0), 0) - coalesce(1e3 * c.last_s / nullif(a.last_requests, 0), 0) DESC,
    c.cause;
