-- What a question about one day needs: the days without reading every run, the answers of a task without reading every
-- answer. Both grow at their end, as rows are stored: one entry for each answer, one for each run.
create index searches_of_task on searches (task_id);
create index runs_of_day on runs (run_date);
