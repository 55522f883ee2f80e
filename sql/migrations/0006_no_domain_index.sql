-- No question of the views can use it: a result's domain is that of its own field or else of its address.
drop index domains_domain;
