-- A line of a list may take younger answers only than its run does.
comment on column tasks.answers_after is 'Answers received before this are not used again for it: it was opened to be bought once more, or the list takes none that is older. Null for all others.';
