-- Normalizes an address from a list. A test compares this function with the same rule in src/core/search/parse.ts.
create or replace function analysis.url_key(url text) returns text
language sql immutable strict parallel safe as $$
  select lower(parts[1])
    || regexp_replace(coalesce(parts[2], ''), '/$', '')
    || coalesce('?' || nullif(array_to_string(array(
      select parameter
      from unnest(string_to_array(parts[3], '&')) with ordinality as given (parameter, nth)
      where parameter <> ''
        and parameter !~* '^(utm_[a-z_]+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|li_fat_id|igshid|mc_cid|mc_eid|srsltid|_ga|_gl)(=|$)'
      order by nth
    ), '&'), ''), '')
  from regexp_match(btrim(url), '^(?:https?://)?(?:[^/?#@]*@)?([^/?#:]+(?::(?!(?:80|443)(?:[/?#]|$))[0-9]+)?)(?::(?:80|443))?(/[^?#]*)?(?:\?([^#]*))?(?:#.*)?$', 'i') as parts
$$;
comment on function analysis.url_key(text) is 'Address without scheme, fragment, tracking parameters or trailing slash, for comparison with the url_key column of pages; null if the text is not an address.';
