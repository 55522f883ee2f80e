-- Every task is written once more when it ends. Where its page has room for that, no index is touched: a page begun from
-- now on is half empty, and full once its tasks ended.
alter table tasks set (fillfactor = 50);
