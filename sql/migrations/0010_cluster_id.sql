-- The function gains a column, which no "create or replace" can give it. Views are put in place after the migrations.
drop view if exists analysis.keyword_clusters;
drop function if exists analysis.keyword_clusters_on(date, integer);
