-- A worker's connection keeps the plan of this function for hours: made while there were few tasks, it would go on to read
-- them all when there are millions. By keys, whatever the planner thinks.
alter function forget_days_of_answers() set enable_seqscan = off;
alter function forget_days_of_answers() set enable_hashjoin = off;
alter function forget_days_of_answers() set enable_mergejoin = off;
