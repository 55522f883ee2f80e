-- Number of pages that entered and left the top 10 each night.
create or replace view analysis.churn as
select run_date, queries, entered, left_top_10, stayed
from analysis.volatility_nights;
comment on view analysis.churn is 'Number of pages that entered and left the top 10 results, summed over all queries of a night. If an answer has a depth below ten, only the positions in both answers are compared.';
comment on column analysis.churn.queries is 'Number of queries that could be compared with their previous answer.';
comment on column analysis.churn.entered is 'Number of pages that entered the top 10.';
comment on column analysis.churn.left_top_10 is 'Number of pages that left the top 10.';
comment on column analysis.churn.stayed is 'Number of pages that are in the top 10 of both answers.';
