-- Hides what looks like a secret in a text that will be stored or shown; what looks like none is left as it
-- is. Never fails, and masking twice changes nothing. Written from crates/core/src/masking.rs, which has the
-- reasons.
-- chr(1) stands for '***@' of an address while the other rules run.
create or replace function tenure.mask_text(p_text text)
returns text
language sql
immutable
strict
parallel safe
set standard_conforming_strings = on
as $$
  select
    replace(
    regexp_replace(
    regexp_replace(
    regexp_replace(
    regexp_replace(
    regexp_replace(
    regexp_replace(
    regexp_replace(
    regexp_replace(
      replace(p_text, chr(1), ' '),
      -- private keys, also without their end
      '-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:[^-]|-[^-])*(?:-----END [A-Z0-'
      '9 ]*PRIVATE KEY-----)?',
      '***', 'g'),
      -- passwords in addresses
      '(://[^ \t\r\n/:@"'']*:)[^ \t\r\n/"'']+@',
      '\1' || chr(1), 'g'),
      -- JSON web tokens
      'eyJ[A-Za-z0-9_-]+\.\.?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*',
      '***', 'g'),
      -- keys of well-known services
      '(^|[^A-Za-z0-9_])(?:A[KS]IA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{16}|gith'
      'ub_pat_[A-Za-z0-9_]{16}|sk-[A-Za-z0-9_-]{16}|xox[abprs]-[A-Za-z0-9-]{1'
      '0})[A-Za-z0-9_-]*',
      '\1***', 'g'),
      -- authorization and cookie headers
      '((?:authorization|cookie)(?:\\*["''\]])*[ \t]*[:=]+>?[ \t]*)(?:[A-Za-z]'
      '[A-Za-z0-9-]*[ \t]+)?(?:(?:(?:\\*[^ \t\r\n"'',;&\\\u0001])(?:(?:\\*[^ \'
      't\r\n"'',;&\\\u0001])|\u0001)*)?="[^"\r\n]*"?(?:(?:\\*[^ \t\r\n"'',;&\\\'
      'u0001])|\u0001)*|(?:\\*[^ \t\r\n"'',;&\\\u0001])(?:(?:\\*[^ \t\r\n"'',;&'
      '\\\u0001])|\u0001)*)(?:[,;][ \t]*(?:(?:(?:\\*[^ \t\r\n"'',;&\\\u0001])('
      '?:(?:\\*[^ \t\r\n"'',;&\\\u0001])|\u0001)*)?="[^"\r\n]*"?(?:(?:\\*[^ \t'
      '\r\n"'',;&\\\u0001])|\u0001)*|(?:\\*[^ \t\r\n"'',;&\\\u0001])(?:(?:\\*[^'
      ' \t\r\n"'',;&\\\u0001])|\u0001)*))*',
      '\1***', 'gi'),
      -- values of secret keys: quoted, escaped, in brackets, wrapped as in Some("…"), or bare
      '((?:pass(?:word|wd|phrase)[A-Za-z0-9_-]*|pwd|secret(?:[_-]?key)?|token'
      '|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret|authoriz'
      'ation|cookie|x-amz-signature)(?:\\*["''\]])*[ \t]*[:=]+>?[ \t]*)(?:(")('
      '?:[^"\\]|\\(?:.|\n))*|('')(?:[^''\\]|\\(?:.|\n)|'''')*|(\\+["''])(?:[^"''\\]'
      '|\\+[^"''\\])*|(?:\{[^}]*\}?|\[[^\]]*\]?)(?:(?:\\*[^ \t\r\n"'',;&\\\u000'
      '1])|\u0001)*|(?:[A-Za-z]{1,2}|[A-Za-z]*\([A-Za-z( ]*)["''][^"'']*["'']?(?'
      ':(?:\\*[^ \t\r\n"'',;&\\\u0001])|\u0001)*|(?:(?:bearer|basic|digest|tok'
      'en)[ \t]+)?(?:\\*[^ \t\r\n"'',;&\\\u0001])(?:(?:\\*[^ \t\r\n"'',;&\\\u00'
      '01])|\u0001)*)',
      '\1\2\3\4***', 'gi'),
      -- bearer tokens
      '(bearer[ \t]+)(?:\\*[^ \t\r\n"'',;&\\\u0001])(?:(?:\\*[^ \t\r\n"'',;&\\\'
      'u0001])|\u0001)*',
      '\1***', 'gi'),
      -- basic credentials; plain words after "basic" stay
      '((?:[Bb]asic|BASIC)[ \t]+)[A-Za-z0-9+/]*[A-Z0-9=](?:(?:\\*[^ \t\r\n"'','
      ';&\\\u0001])|\u0001)*',
      '\1***', 'g'),
      chr(1), '***@')
$$;
