SELECT f.host, count(*) AS files, sum(CASE WHEN f.last_before >= f.first_row THEN 1 ELSE 0 END) AS left_out,
    coalesce(max(l.lost_records), 0) AS lost_records
FROM files f LEFT JOIN lost_by_host l ON f.host = l.host
GROUP BY f.host ORDER BY lost_records DESC;
