// The groups file of the example injector for a bench: one group that is healthy as soon as the go file is there. Its health check writes the
// done file then, since the example knows no clock: the moment of the first line written is the check's, to the 10 ms of /proc/uptime.
//   injector-groups.js PREFIXES FOLDER
import { writeFileSync } from 'node:fs';

const [wanted = '0', folder = '.'] = process.argv.slice(2);
const prefixes = Array.from(
  { length: Number(wanted) },
  (_, i) => `${16 + (i >>> 16)}.${(i >>> 8) & 0xff}.${i & 0xff}.0/24`, // from 16.0.0.0 on
);
const clock = `read up rest </proc/uptime && echo "$up $up" >${folder}/done.tmp && mv ${folder}/done.tmp ${folder}/done`;
const group = {
  name: 'bench',
  check: `test -e ${folder}/go && { test -e ${folder}/done || { ${clock}; }; }`,
  intervalSeconds: 0.02,
  attributes: { nextHop: '192.0.2.1', origin: 'igp', asPath: [65000, 64500], communities: ['64500:1'] },
  prefixes,
};
writeFileSync(`${folder}/groups.json`, JSON.stringify({ groups: [group] }));
