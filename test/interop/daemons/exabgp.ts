// ExaBGP, which announces what a process tells it: here a shell that reads commands from a named pipe.
import { chmodSync, closeSync, constants, openSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { control, FOREIGN, FOREIGN_AS, type ForeignOptions, ForeignProcess, LOCAL_AS, ZEST } from './foreign.ts';

/** Until the file `stop` is there and the pipe was opened once more. */
const ANNOUNCER = `#!/bin/sh
cd "$(dirname "$0")"
while [ ! -e stop ]; do cat commands; done
`;

const config = (options: ForeignOptions, folder: string): string => `
process announcer {
  run ${join(folder, 'announcer')};
  encoder text;
}
neighbor ${ZEST[options.over]} {
  router-id 10.0.0.2;
  local-address ${FOREIGN[options.over]};
  local-as ${FOREIGN_AS};
  peer-as ${LOCAL_AS};
  hold-time ${options.holdTimeSeconds};
  connect ${options.zestPort};
  family { ipv4 unicast; ipv6 unicast; }
  api { processes [ announcer ]; }
}
`;

class Exabgp {
  readonly #process: ForeignProcess;

  constructor(options: ForeignOptions) {
    this.#process = new ForeignProcess('exabgp', (folder) => ['exabgp', join(folder, 'conf')], {
      exabgp_daemon_user: 'root',
      exabgp_api_ack: 'false',
      exabgp_api_cli: 'false',
      exabgp_log_destination: 'stdout',
    });
    const { folder } = this.#process;
    writeFileSync(join(folder, 'announcer'), ANNOUNCER);
    chmodSync(join(folder, 'announcer'), 0o755);
    writeFileSync(join(folder, 'conf'), config(options, folder));
  }

  async begin(): Promise<this> {
    await control('mkfifo', join(this.#process.folder, 'commands'));
    this.#process.start();
    return this;
  }

  get output(): string {
    return this.#process.output;
  }

  /** Commands of its process API, in order. */
  async say(commands: readonly string[]): Promise<void> {
    await writeFile(join(this.#process.folder, 'commands'), `${commands.join('\n')}\n`);
  }

  /** ExaBGP leaves its process running: that is ended first. */
  async stop(): Promise<void> {
    const { folder } = this.#process;
    writeFileSync(join(folder, 'stop'), '');
    try {
      closeSync(openSync(join(folder, 'commands'), constants.O_WRONLY | constants.O_NONBLOCK));
    } catch {
      // Nobody reads: it has ended.
    }
    await this.#process.stop();
  }
}

export const exabgp = {
  name: 'ExaBGP',
  binary: '/usr/sbin/exabgp',
  start: (options: ForeignOptions): Promise<Exabgp> => new Exabgp(options).begin(),
} as const;
