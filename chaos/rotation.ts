import { execFileSync, spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { canRunSshd } from '../test/support/sshd.js';
import { openStage } from '../test/support/stage.js';
import { CUSTODIES, type Custody } from './rotation/holders.js';
import { rotateUnderHammer } from './rotation/hammered.js';
import { rotateUnderKills } from './rotation/killed.js';

/**
 * npm run proof -- rotation [--rotations 200] [--hosts 8] [--kills 20] [--lanes 12] [--custody service,host]
 * Rotates keys on real sshd servers under constant logins, then again while the worker is killed at every step. Requires root (mount namespaces) and
 * openssh-server. Exits with 0 if no login was refused, every rotation ended as expected, and nothing was left behind.
 */
const { values } = parseArgs({
  options: {
    rotations: { type: 'string', default: '200' },
    hosts: { type: 'string', default: '8' },
    kills: { type: 'string', default: '20' },
    lanes: { type: 'string', default: '12' },
    custody: { type: 'string', default: CUSTODIES.join(',') },
  },
});
const say = (line: string) => void process.stdout.write(`${line}\n`);

if (!canRunSshd()) {
  say('This machine cannot run it: it takes openssh-server, and root, to give each sshd its own accounts.');
  process.exit(1);
}
const stage = await openStage();
try {
  const start = performance.now();
  const environment = { stage, ...(await stage.seed()), config: exemptions(), say };
  say(execFileSync('sh', ['-c', 'ssh -V 2>&1; sshd -V 2>&1 | tail -n 1']).toString().trim());
  const faults = [
    ...(await rotateUnderHammer(environment, { rotations: whole('rotations'), hosts: whole('hosts') })),
    ...(await rotateUnderKills(environment, { kills: whole('kills'), lanes: whole('lanes'), custodies: custodies() }))
      .faults,
  ];
  for (const fault of faults) say(`FAULT: ${fault}`);
  say(`${faults.length === 0 ? 'Proven' : 'Not proven'} in ${Math.round((performance.now() - start) / 1000)} s.`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  await stage.close();
}
process.exit();

function whole(name: keyof typeof values): number {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= 0) return value;
  throw new Error(`--${name} must be a whole number, not "${values[name]}"`);
}

function custodies(): Custody[] {
  const named = values.custody.split(',');
  const known = CUSTODIES.filter((custody) => named.includes(custody));
  if (known.length === named.length) return known;
  throw new Error(`--custody must be of ${CUSTODIES.join(', ')}, not "${values.custody}"`);
}

/**
 * Returns sshd_config lines that exempt loopback addresses from penalties. Since version 9.8, sshd blocks an address after repeated refusals. Checking that
 * removed keys are refused would cause such a block.
 */
function exemptions(): string[] {
  const [, major = '0', minor = '0'] = /OpenSSH_(\d+)\.(\d+)/.exec(spawnSync('ssh', ['-V']).stderr.toString()) ?? [];
  return Number(major) * 100 + Number(minor) >= 908 ? ['PerSourcePenaltyExemptList 127.0.0.0/8'] : [];
}
