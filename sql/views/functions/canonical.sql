-- Converts a text to the normalized form of queries. A test compares this function with the same rule in
-- src/base/query.ts. The function is not declared strict, because the planner does not inline strict functions.
create or replace function analysis.canonical(given text) returns text
language sql immutable parallel safe as $$
  select case
    -- Most texts are printable ASCII with single spaces and remain unchanged.
    when given ~ '^[!-~]+( [!-~]+)*$' then given
    else normalize(btrim(regexp_replace(
      -- Format characters are removed, except the joiners U+200C and U+200D, which Persian, Hindi and emoji need.
      regexp_replace(
        normalize(given, nfc),
        '[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]',
        '', 'g'
      ),
      '[\u0009-\u000d\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+', ' ', 'g'
    )), nfc)
  end
$$;
comment on function analysis.canonical(text) is 'Text, normalized in the same way as queries: composed characters, no format characters, single spaces.';
