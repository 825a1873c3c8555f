import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SshFleet, Hammer, KeyHolder, logIn, type ManagedHost } from '../../test/support/rotations.js';
import { type Environment, median, SETTINGS } from './environment.js';

/** Pause between two logins of a login hammer, which leaves enough CPU time for the rotations. */
const PAUSE_MS = 250;

/** Performs this many rotations on this many hosts concurrently, while a login hammer runs against each host. @returns the failures */
export async function rotateUnderHammer(
  { stage, apiKey, config, say }: Environment,
  { rotations, hosts }: { rotations: number; hosts: number },
): Promise<string[]> {
  if (rotations === 0) return [];
  const service = await stage.start({ settings: SETTINGS });
  const field = new SshFleet(() => service, apiKey, 'hammered');
  const faults: string[] = [];
  const seconds: number[] = [];
  let [logins, left, done] = [0, rotations, 0];
  try {
    for (let i = 0; i < Math.min(hosts, rotations); i += 1) await field.addHost({ config });
    const lane = async (at: ManagedHost): Promise<void> => {
      const first = await field.newKey();
      at.sshd.authorize('deploy', `environment="A=b c",no-agent-forwarding ${first.publicKey}`);
      const hammer = new Hammer(new KeyHolder(field, at, first), PAUSE_MS);
      let before: { id: string; file: string } = first;
      while (left > 0) {
        left -= 1;
        const start = performance.now();
        const id = await field.rotate(before.id, [at], { overlapSeconds: 4 });
        const { status } = await field.ended(id, 180);
        const causes = (await field.targets(id)).map(({ failure }) => failure?.code ?? 'none');
        seconds.push((performance.now() - start) / 1000);
        const next = await field.released(first.id);
        const file = field.keep(`next-${id}`, next?.privateKey ?? '');
        const ends = [status, await logIn(at, before.file), await logIn(at, file)].join(' ');
        const files = readdirSync(join(at.sshd.home('deploy'), '.ssh')).join(' ');
        if (ends !== 'DONE denied accepted') faults.push(`rotation ${id} ended as ${ends} (${causes.join(', ')})`);
        if (files !== 'authorized_keys') faults.push(`rotation ${id} left ${files}`);
        // The key cannot be rotated again until a person has investigated the failed rotation.
        if (status !== 'DONE') break;
        before = { id: next?.id ?? '', file };
        done += 1;
        if (done % 25 === 0) say(`  ${done} of ${rotations} rotations`);
      }
      const turnedAway = await hammer.stop();
      logins += hammer.results.length;
      faults.push(...turnedAway.map((result) => `a login at ${at.sshd.address} was ${result}`));
    };
    await Promise.all(field.hosts.map(lane));
  } finally {
    await field.close();
    await service.kill();
  }
  say(
    `${done} rotations on ${field.hosts.length} hosts under ${logins} logins: ${faults.length} faults. ` +
      `Each took ${median(seconds).toFixed(1)} s (median), ${Math.max(...seconds).toFixed(1)} s at most, 4 s of them overlap.`,
  );
  return faults;
}
