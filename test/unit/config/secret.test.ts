// Secrets: the code in files both ways, and no display of the configuration that shows one.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { configSchema, loadConfig } from '../../../engine/config/load.ts';
import { printConfig } from '../../../engine/config/text/print.ts';
import { decodeSecret, encodeSecret, secretNames, secretsOf } from '../../../engine/config/secret.ts';
import { validateReport } from '../../../engine/config/validate-report.ts';

const CANARY = 'canary-Zx81-of-thirty-two-characters-and-more';

test('a code of another router is read', () => assert.equal(decodeSecret('$9$LbHX-wg4Z'), 'lc'));

test('what is encoded is decoded, and twice the same', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const code = encodeSecret(text);
      assert.match(code, /^\$9\$[\w./-]+$/);
      assert.equal(decodeSecret(code), text);
      assert.equal(encodeSecret(text), code);
    }),
  );
});

for (const code of ['', '$9$', '$9$!', '$9$Q', '$9$QaA', 'lc', '$9$LbHX-wg4', '$9$LbHX-wg4Z!'])
  test(`"${code}" is no code`, () => assert.equal(decodeSecret(code), undefined));

const text = (secret: string): string => `
plugin { hub { server main { ip 127.0.0.1; port 0; secret ${secret}; client one { secret ${secret}; } } } }
telemetry { prometheus { basic-auth { username u; password ${secret}; } } }
environment { api-server { token ${secret}; } mcp { identity one { token ${secret}; } } }
system { authentication { user ada { plaintext-password ${secret}; } } }
`;

describe('a configuration with secrets', () => {
  const load = (secret: string): Extract<ReturnType<typeof loadConfig>, { ok: true }> => {
    const result = loadConfig(text(secret), { path: 't' });
    assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.faults));
    return result;
  };

  test('means the same plain and encoded', () => {
    const plain = load(CANARY).config;
    const encoded = load(encodeSecret(CANARY)).config;
    assert.deepEqual(encoded.hub, plain.hub);
    assert.equal(encoded.hub[0]?.secret, CANARY);
    assert.deepEqual(secretsOf(encoded.tree), [CANARY]);
  });

  test('is printed encoded, masked or plain, and reads back', () => {
    const { syntax } = load(CANARY).config;
    const stored = printConfig(syntax);
    assert.ok(!stored.includes(CANARY));
    assert.equal(stored.split('$9$').length - 1, 6);
    const again = loadConfig(stored, { path: 't' });
    assert.equal(again.ok ? again.config.hub[0]?.secret : '', CANARY);
    assert.equal(printConfig(syntax, { secrets: true }).split(CANARY).length - 1, 6);
    assert.equal(printConfig(syntax, { secrets: false }).split('********').length - 1, 6);
    assert.ok(!printConfig(syntax, { secrets: false }).includes('$9$'));
  });

  for (const [what, bad] of [
    ['is too long', `bgp { peer a { connection { md5 { password "${CANARY.repeat(3)}"; } } } }`],
    ['has a blank and no quotes', `plugin { hub { server main { secret half ${CANARY}; } } }`],
    ['is no code', `plugin { hub { server main { secret "$9$ ${CANARY}"; } } }`],
    [
      'is too short',
      'plugin { hub { server main { secret canary; client canary-two { secret x; } } } }'.replaceAll(
        'canary;',
        `"${CANARY.slice(0, 20)}";`,
      ),
    ],
    ['is stated twice', `plugin { hub { server main { secret ${CANARY}; secret other-${CANARY}; } } }`],
    ['of md5, which is refused', `bgp { peer a { connection { md5 { password ${CANARY}; } } } }`],
  ] as const) {
    test(`whose secret ${what} is refused or warned of without it`, () => {
      for (const json of [false, true]) {
        const { stdout, stderr } = validateReport(bad, 't', { json, verbose: true });
        assert.ok(stdout.length > 20);
        assert.ok(!(stdout + stderr).includes(CANARY.slice(0, 16)), stdout);
      }
    });
  }

  test('a summary of it shows none', () => {
    for (const json of [false, true])
      assert.ok(!validateReport(text(CANARY), 't', { json, verbose: true }).stdout.includes(CANARY));
  });

  test('the schema’s sensitive leaves are those', () =>
    assert.deepEqual([...secretNames(configSchema().root)].sort(), ['password', 'plaintext-password', 'secret', 'token']));
});
