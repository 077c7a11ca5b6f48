// Tokens, semicolons, statement forms, duplicates, unknown names, inactive nodes: a row for each thing the language says of them.
import { bgp, peer, PLUGIN, SENDER, type Row, testRows } from '../../../support/config-language.ts';

const rows: readonly Row[] = [
  // Tokens
  ['tabs and carriage returns are blanks', bgp(peer()).replaceAll('\n', '\r\n').replaceAll('  ', '\t'), 0, ''],
  ['everything on one line', bgp(peer()).replace('10.0.0.1\n', '10.0.0.1;\n').replaceAll('\n', ' '), 0, ''],
  ['a comment ends a word', 'bgp {\n router-id 10.0.0.1# ours\n session asn local 1#2\n}', 0, ''],
  ['a comment alone, and at the end without a line end', `# one\n${bgp(peer())}# two`, 0, ''],
  ['a hash in a string is none', bgp(peer({ rest: 'description "a # b";' })), 0, ''],
  ['parentheses inside a word', bgp(peer({ rest: 'description transit(old);' })), 0, ''],
  [
    'a parenthesis that begins a word is a token',
    bgp(peer({ rest: 'description (old);' })),
    1,
    'description needs a value, found "("',
  ],
  ['single and double quotes', bgp(peer({ rest: `description 'it is "good"';` })), 0, ''],
  ['a string over lines', bgp(peer({ rest: 'description "one\n  two\n three";' })), 0, ''],
  ['escapes', bgp(peer({ rest: String.raw`description "a\"b\'c\\d\n\t";` })), 0, ''],
  ['a string touches a word', bgp(peer({ rest: 'description a"b";' })), 1, 'expected ";", found "b"'],
  [
    'a comma separates nothing',
    bgp(peer({ rest: 'process inject { receive [ update, state ]; }' }), PLUGIN),
    1,
    '"update," is not',
  ],
  ['no line goes on behind a backslash', bgp('description a \\\n b'), 1, 'expected ";"'],
  ['no include', 'include "other.conf";', 1, 'unknown top-level keyword: include'],
  ['an unterminated string', bgp(peer({ rest: 'description "x;' })), 1, 'unterminated string', [8, 17]],

  // Semicolons
  ['a line end behind a word', bgp(peer({ rest: 'description x' })), 0, ''],
  ['a line end behind a string', bgp(peer({ rest: 'description "x y"' })), 0, ''],
  ['a line end behind a bracket', bgp(peer({ rest: 'process inject { receive [ update ]\n }' }), PLUGIN), 0, ''],
  [
    'no semicolon before a brace',
    bgp(peer({ family: 'ipv4/unicast { prefix { maximum 1000 } }' })),
    1,
    'expected ";", found "}"',
    [7, 83],
  ],
  ['no semicolon between two statements', bgp(peer({ local: 'ip 10.0.0.1 accept false;' })), 1, 'expected ";", found "accept"'],
  [
    'a bracket before a brace',
    bgp(peer({ rest: 'process inject { receive [ update ] }' }), PLUGIN),
    1,
    'expected ";", found "}"',
  ],
  ['semicolons too many', bgp(`;;${peer()};;`), 0, ''],
  ['a semicolon behind a block', 'bgp { router-id 1.1.1.1; session { asn { local 1; }; }; };', 0, ''],
  ['the end of the file behind a word', 'bgp router-id 1.1.1.1\nbgp session asn local 1', 0, ''],

  // Leaves
  ['a leaf without a value', bgp('description;'), 1, 'description needs a value', [5, 14]],
  [
    'a leaf without a value before a line end',
    'bgp {\n router-id\n}',
    1,
    'router-id needs a value, found the end of the line',
    [2, 11],
  ],
  ['a leaf with two values', bgp(peer({ remote: 'ip 10.0.0.2 10.0.0.3;' })), 1, 'found "10.0.0.3"'],
  ['a leaf with a list', bgp(peer({ remote: 'ip [ 10.0.0.2 ];' })), 1, 'ip needs a value, found "["'],
  ...['true', 'false', 'enable', 'disable'].map(
    (word): Row => [`a boolean: ${word}`, bgp(peer({ rest: `behavior { manual-eor ${word}; }` })), 0, ''],
  ),
  ...['yes', 'on', '1', 'require', 'True'].map(
    (word): Row => [
      `a boolean: ${word}`,
      bgp(peer({ rest: `behavior { manual-eor ${word}; }` })),
      1,
      `manual-eor: "${word}" is not one of true, false`,
    ],
  ),
  ...['true', 'false', 'enable', 'disable', 'require', 'refuse'].map(
    (word): Row => [`a mode: ${word}`, bgp(peer({ capability: `asn4 ${word};` })), 0, ''],
  ),
  [
    'a mode: mandatory',
    bgp(peer({ capability: 'asn4 mandatory;' })),
    1,
    'asn4: "mandatory" is not one of enable, disable, require, refuse',
  ],

  // Leaf-lists
  ['a list of one word', bgp(peer({ rest: 'process inject { receive update; }' }), PLUGIN), 0, ''],
  ['a list without brackets', bgp(peer({ rest: 'process inject { receive update state open; }' }), PLUGIN), 0, ''],
  ['a list over lines', bgp(peer({ rest: 'process inject { receive [\n update\n state # both\n]\n }' }), PLUGIN), 0, ''],
  ['a list without blanks', bgp(peer({ rest: 'process inject { receive [update state]; }' }), PLUGIN), 0, ''],
  ['an empty list', bgp(peer({ rest: 'process inject { receive [ ]; }' }), PLUGIN), 0, ''],
  [
    'a member that is none of the words',
    bgp(peer({ session: 'community { send [ standard larg ]; }' })),
    1,
    'did you mean "large"?',
  ],
  ['a list that is not closed', bgp(peer({ rest: 'process inject { receive [ update; }' }), PLUGIN), 1, 'is missing'],
  [
    'lists in a list',
    bgp(peer({ rest: 'process inject { receive [ [ update ] ]; }' }), PLUGIN),
    1,
    'expected a value, found "["',
  ],

  // Containers
  ['a repeated block', bgp(peer({ rest: 'timer { receive-hold-time 30; } timer { connect-retry 5; }' })), 0, ''],
  ['a repeated top-level block', `${bgp('')}bgp { ${peer()} }`, 0, ''],
  ['the short form', bgp(peer({ rest: 'timer receive-hold-time 30;' })), 0, ''],
  ['the short form of two levels', bgp(peer({ connection: 'local port 1179;' })), 0, ''],
  ['the short form of a container in a list', bgp(peer({ family: 'ipv4/unicast { prefix maximum 10; }' })), 0, ''],
  ['an empty block', bgp(peer({ rest: 'timer { } behavior { }' })), 0, ''],
  ['a container without a block', bgp(peer({ rest: 'timer;' })), 1, 'timer needs a block'],
  ['a container with a word that is no field', bgp(peer({ rest: 'timer 30;' })), 1, 'unknown field in timer: 30'],

  // Presence containers
  ...['extended-message', 'route-refresh'].flatMap((name): readonly Row[] =>
    [
      '',
      ' enable',
      ' true',
      ' require',
      ' disable',
      ' false',
      ' refuse',
      ' { }',
      ' { mode require; }',
      ' ( require )',
      ' ( )',
    ].map((form): Row => [`presence: ${name}${form}`, bgp(peer({ capability: `${name}${form};`, rest: SENDER }), PLUGIN), 0, '']),
  ),
  [
    'presence: a word that is no mode',
    bgp(peer({ capability: 'extended-message on;' })),
    1,
    'extended-message/mode: "on" is not one of enable',
  ],
  ['presence at a line end', bgp(peer({ capability: '\nextended-message\n' })), 0, ''],

  // Lists
  ['a list entry without a block', bgp('peer edge;'), 0, 'incomplete peer edge'],
  ['a list entry in the short form', bgp('peer edge connection local ip 10.0.0.1;'), 0, 'incomplete peer edge'],
  ['a key in quotes', bgp(peer({ name: '"edge"' })), 0, ''],
  ['a list without a key whose first word is a field', bgp('peer { connection { } }'), 0, 'incomplete peer default'],
  ['a list without a key', bgp('peer { foo { } }'), 1, 'peer needs a name'],
  ['presence: fields in parentheses', bgp(peer({ capability: 'extended-message ( mode require );' })), 0, ''],
  [
    'presence: an unknown field in parentheses',
    bgp(peer({ capability: 'extended-message ( mod require );' })),
    1,
    'unknown field in extended-message: mod',
  ],
  ['presence: parentheses that stay open', bgp(peer({ capability: 'extended-message ( require;' })), 1, 'expected ")"'],
  ['positions', bgp(peer({ session: 'add-path ipv4/unicast send require;' })), 0, ''],
  ['a position too many', bgp(peer({ session: 'add-path ipv4/unicast send require more;' })), 1, 'found "more"'],
  ['a position that is no value', bgp(peer({ session: 'add-path ipv4/unicast sned;' })), 1, 'did you mean "send"?'],
  ['grouped', bgp(peer({ session: 'add-path {\n ipv4/unicast send\n ipv6/unicast receive enable\n }' })), 0, ''],
  [
    'grouped, with blocks and positions',
    bgp(peer({ family: 'ipv4/unicast { prefix { maximum 1; } }\n ipv6/unicast require { prefix { maximum 1; } }' })),
    0,
    '',
  ],
  ['a family by itself, beside a group', bgp(peer({ session: 'family ipv6/unicast { prefix { maximum 1; } }' })), 0, ''],
  [
    'an anonymous entry, repeated',
    bgp(
      peer({
        rest: 'update { attribute { origin igp; } nlri { ipv4/unicast add 10.0.0.0/8; } } update { nlri { ipv4/unicast add 11.0.0.0/8; } }',
      }),
    ),
    0,
    '',
  ],
  [
    'the same family on several nlri lines',
    bgp(peer({ rest: 'update { nlri { ipv4/unicast add 10.0.0.0/8; ipv4/unicast add 11.0.0.0/8; } }' })),
    0,
    '',
  ],
  [
    'two named update blocks',
    bgp(peer({ rest: 'update a { nlri { ipv4/unicast add 10.0.0.0/8; } } update b { nlri { ipv4/unicast add 11.0.0.0/8; } }' })),
    0,
    '',
  ],

  // Duplicates
  ['a duplicate peer', bgp(peer() + peer()), 1, 'duplicate list key for peer: edge'],
  ['a duplicate group', bgp('group a { } group a { }'), 1, 'duplicate list key for group: a'],
  [
    'a duplicate family',
    bgp(peer({ family: 'ipv4/unicast { prefix { maximum 1; } } ipv4/unicast { prefix { maximum 1; } }' })),
    1,
    'duplicate list key for family: ipv4/unicast',
  ],
  [
    'a duplicate family in two blocks',
    bgp(peer({ session: 'family { ipv4/unicast { prefix { maximum 1; } } }' })),
    1,
    'duplicate list key for family: ipv4/unicast',
  ],
  [
    'a duplicate process',
    bgp(peer({ rest: 'process inject { } process inject { }' }), PLUGIN),
    1,
    'duplicate list key for process: inject',
  ],
  [
    'a duplicate add-path',
    bgp(peer({ session: 'add-path { ipv4/unicast send; ipv4/unicast receive; }' })),
    1,
    'duplicate list key for add-path: ipv4/unicast',
  ],
  ['a duplicate plugin', 'plugin { external a { run x; } external a { run y; } }', 1, 'duplicate list key for external: a'],
  [
    'a duplicate named update',
    bgp(peer({ rest: 'update a { nlri { ipv4/unicast add 10.0.0.0/8; } } update a { nlri { ipv4/unicast add 11.0.0.0/8; } }' })),
    1,
    'duplicate list key for update: a',
  ],
  ['one of two is inactive', bgp(`inactive: ${peer()}${peer()}`), 0, ''],
  [
    'one of two families is inactive',
    bgp(peer({ family: 'inactive: ipv4/unicast { prefix { maximum 1; } } ipv4/unicast { prefix { maximum 2; } }' })),
    0,
    '',
  ],

  // Unknown names
  ['a top-level word', 'bgpp { }', 1, 'line 1: unknown top-level keyword: bgpp (did you mean "bgp"?)', [1, 1]],
  ['a top-level word far from any', 'quagga { }', 1, 'unknown top-level keyword: quagga', [1, 1]],
  ...(
    [
      ['bgp', 'listen 179;', ''],
      ['bgp', 'local-as 1;', ''],
      ['peer', 'local-address 1.1.1.1;', ''],
      ['peer', 'hold-time 30;', ''],
      ['peer', 'neighbor 1.1.1.1;', ''],
    ] as const
  ).map(([block, statement]): Row => {
    const word = statement.split(' ')[0] ?? '';
    return [
      `${word} in ${block}`,
      bgp(block === 'bgp' ? statement : peer({ rest: statement })),
      1,
      `unknown field in ${block}: ${word}`,
    ];
  }),
  ['an unknown field in a container', bgp(peer({ rest: 'timer { hold-time 30; }' })), 1, 'unknown field in timer: hold-time'],
  ['an unknown field in asn', bgp(peer({ asn: 'remote 65001; peer 65001;' })), 1, 'unknown field in asn: peer'],
  ['an unknown field in local', bgp(peer({ local: 'ip 10.0.0.1; adress 1;' })), 1, 'unknown field in local: adress'],
  ['an unknown field in prefix', bgp(peer({ family: 'ipv4/unicast { prefix { max 1; } }' })), 1, 'unknown field in prefix: max'],
  [
    'an unknown field in family',
    bgp(peer({ family: 'ipv4/unicast { limit 1; prefix { maximum 1; } }' })),
    1,
    'unknown field in family: limit',
  ],
  ['an unknown field in group', bgp('group a { template b; }'), 1, 'unknown field in group: template'],
  ['a group in a group', bgp('group a { group b { } }'), 1, 'unknown field in group: group'],
  ['free keys', 'environment { log { level warn; bgp.routes debug; anything.else info; } }', 0, ''],

  // What to do about it
  [
    'a semicolon is missing before a field',
    bgp(peer({ local: 'ip 10.0.0.1 accept false;' })),
    1,
    'found "accept" (a ";" is needed before accept)',
  ],
  [
    'a semicolon is missing after a list',
    bgp(peer({ rest: 'process inject { receive [ update ] send [ update ]; }' }), PLUGIN),
    1,
    'found "send" (a ";" is needed before send)',
  ],
  ['and what follows is read', bgp(peer({ local: 'ip 10.0.0.1 accept flase;' })), 1, 'accept: "flase" is not one of true, false'],
  [
    'quotes are missing',
    bgp(peer({ rest: 'description to the lab;' })),
    1,
    'found "the" (a value with blanks is written in quotes)',
  ],
  ['a block of another block', bgp(peer({ rest: 'family { }' })), 1, 'unknown field in peer: family (it stands in session)'],
  [
    'a leaf of another block',
    bgp(peer({ session: 'receive-hold-time 9;' })),
    1,
    'unknown field in session: receive-hold-time (it stands in timer)',
  ],
  ['a block below another', 'peer edge { }', 1, 'unknown top-level keyword: peer (it stands in bgp)'],
  ['the word of another program', 'neighbor 10.0.0.1 { }', 1, 'unknown top-level keyword: neighbor (here it is bgp peer NAME)'],
  [
    'the word of an older release',
    bgp(peer({ rest: 'hold-time 9;' })),
    1,
    'unknown field in peer: hold-time (here it is timer receive-hold-time)',
  ],

  // Inactive
  [
    'an inactive peer is not looked at',
    bgp('inactive: peer bad { connection { remote { ip 10.0.0.2; } } session { asn { remote 1; } } }'),
    0,
    '',
  ],
  ['an inactive group', bgp(`inactive: group g { ${peer()} }`), 0, ''],
  ['an inactive leaf', bgp(peer({ rest: 'inactive: description "x";' })), 0, ''],
  ['an inactive container', bgp(peer({ rest: 'inactive: timer { receive-hold-time 30; }' })), 0, ''],
  ['an inactive mark joined to the name', bgp(peer({ rest: 'inactive:description "x";' })), 0, ''],
  [
    'an inactive node is parsed all the same',
    bgp(peer({ rest: 'inactive: descripton "x";' })),
    1,
    'unknown field in peer: descripton',
  ],
  [
    'an inactive value is checked all the same',
    bgp(peer({ rest: 'inactive: timer { receive-hold-time 2; }' })),
    1,
    'receive-hold-time',
  ],
  ['an inactive top-level block', `inactive: bgp { router-id 1.1.1.1; }`, 0, ''],
  ['an inactive process', bgp(peer({ rest: 'inactive: process nobody { receive [ update ]; }' })), 0, ''],
  ['an inactive member', bgp(peer({ rest: 'process inject { receive [ update inactive:state ]; }' }), PLUGIN), 0, ''],
  ['an inactive member is no known filter', bgp(peer({ rest: 'filter { import [ inactive:nobody ]; }' })), 0, ''],
  ['what is required must be active', bgp(peer({ local: 'inactive: ip 10.0.0.1;' })), 1, 'local ip is required'],
  [
    'what others need must be active',
    bgp(peer({ capability: 'route-refresh;', rest: `inactive: ${SENDER}` }), PLUGIN),
    1,
    'route-refresh requires process with send [ update ]',
  ],
  [
    'an inactive plugin is no plugin',
    bgp(peer({ rest: 'process inject { }' }), 'plugin { inactive: external inject { run "true"; } }'),
    1,
    'undefined plugin in process: inject',
  ],
  ['an inactive nlri line', bgp(peer({ rest: 'update { nlri { inactive: ipv4/unicast add 10.0.0.0/8; } }' })), 1, 'inactive'],
  ['an inactive update block', bgp(peer({ rest: 'inactive: update { nlri { ipv4/unicast add 10.0.0.0/8; } }' })), 0, ''],
  ['an inactive add-path line', bgp(peer({ session: 'add-path { inactive: ipv4/unicast send; }' })), 1, 'inactive'],
  ['an inactive nexthop line', bgp(peer({ capability: 'nexthop { inactive: ipv4/unicast ipv6; }' })), 1, 'inactive'],
];

await testRows(rows);
