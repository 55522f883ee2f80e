-- What an API says beyond what was announced is found by these, however many answers there are. They hold nothing while
-- it says nothing more, and cost storing nothing then.
create index organic_results_extra_idx on organic_results (search_id) where extra is not null;
create index searches_extra_idx on searches (id) where extra is not null;
