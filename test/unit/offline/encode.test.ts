import assert from 'node:assert/strict';
import test from 'node:test';
import { decodeCommand } from '../../../engine/offline/decode.ts';
import { encodeCommand } from '../../../engine/offline/encode.ts';

const CASES: readonly (readonly [args: readonly string[], hex: string])[] = [
  [['-n', 'route 10.0.0.0/24'], '180a0000'],
  [['-n', '-i', 'route 10.0.0.0/24 info 9'], '00000009180a0000'],
  [['-n', '-f', 'ipv4/multicast', 'update text nlri ipv4/multicast add 10.0.0.0/8'], '080a'],
  [['--no-header', 'withdraw route 10.0.0.0/24'], '0004180a00000000'],
  [['--no-header', 'withdraw', 'route', '2001:db8::/32'], '0000000b800f080002012020010db8'],
  [['update text nlri ipv6/unicast eor'], `${'ff'.repeat(16)}001d0200000006800f03000201`],
  [
    ['--no-header', 'route 10.0.0.0/24 next-hop 192.0.2.1'],
    '000000154001010040020 0400304c0000201 40050400000064 180a0000'.replaceAll(' ', ''),
  ],
  [
    ['--no-header', '-a', '65001', '-z', '65002', 'route 10.0.0.0/24 next-hop 192.0.2.1'],
    '00000014 40010100 4002060201 0000fde9 400304c0000201 180a0000'.replaceAll(' ', ''),
  ],
  [
    ['--no-header', '--asn2', '-a', '70000', '-z', '1', '10.0.0.0/24 next-hop 192.0.2.1'],
    '0000001b 40010100 40020402015ba0 400304c0000201 c011060201 00011170 180a0000'.replaceAll(' ', ''),
  ],
];
for (const [args, hex] of CASES) {
  test(`encode ${args.join(' ')}`, () => {
    assert.deepEqual(encodeCommand(args), { stdout: `${hex}\n`, stderr: '', code: 0 });
  });
}

const FAULTS: readonly (readonly [args: readonly string[], code: number, stderr: RegExp])[] = [
  [[], 2, /^nothing to encode/],
  [['route 10.0.0.0/24'], 1, /^next-hop ADDRESS is required/],
  [['route 10.0.0.0/24 next-hop self'], 1, /^next-hop ADDRESS is required/],
  [
    ['route 10.0.0.0/44'],
    1,
    /^invalid prefix: 10\.0\.0\.0\/44\n {2}update text nlri ipv4\/unicast add 10\.0\.0\.0\/44\n {36}\^\n$/,
  ],
  [['-a'], 1, /^-a requires a value/],
  [['-a', '0', 'route 10.0.0.0/24'], 1, /^-a: 0 is not an AS number/],
  [['-x', 'route'], 1, /^unknown option: -x/],
  [['-f', 'ipv4/rtc', 'route 10.0.0.0/24'], 1, /^no plugin writes ipv4\/rtc/],
];
for (const [args, code, stderr] of FAULTS) {
  test(`encode ${args.join(' ')} fails`, () => {
    const result = encodeCommand(args);
    assert.equal(result.code, code);
    assert.match(result.stderr, stderr);
  });
}

test('a thousand prefixes become as many messages as they need, each readable', () => {
  const prefixes = Array.from({ length: 3000 }, (_, index) => `10.${index >> 8}.${index & 255}.0/24`).join(' ');
  const { stdout } = encodeCommand([`update text next-hop 192.0.2.1 nlri ipv4/unicast add ${prefixes}`]);
  const lines = stdout.trim().split('\n');
  assert.equal(lines.length, 3);
  let count = 0;
  for (const line of lines) {
    const { bgp } = JSON.parse(decodeCommand([line], '', true).stdout) as {
      bgp: { update: { 'ipv4/unicast': { nlri: string[] }[] } };
    };
    count += bgp.update['ipv4/unicast'].reduce((sum, operation) => sum + operation.nlri.length, 0);
  }
  assert.equal(count, 3000);
});
