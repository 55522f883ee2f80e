-- A list may be given a share of a night's credits: its slices take turns with those of other lists.

alter table slices add column turn double precision;
comment on column slices.turn is 'Its place among slices of other runs of its priority: what its run is expected to cost up to its end, by the part of a night''s credits that its list is given; null: lists have no parts.';
