import { NestFactory } from '@nestjs/core';
import { parseArgs } from 'node:util';
import { AdministrationModule } from '../app/app.module.js';
import { LogAcceptance, type LogStanding } from '../audit/log/log-acceptance.js';
import { Config } from '../platform/config/config.js';
import { StructuredLogger } from '../platform/log/structured-logger.js';

/**
 * Accepts the audit log in the database although the HSM has signed another, for example after an older backup was restored. Without
 * --leaves it prints the state and changes nothing; with the number of leaves that it printed, it accepts them.
 */
export async function acceptLog(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { leaves: { type: 'string' } } });
  const app = await NestFactory.createApplicationContext(AdministrationModule, {
    logger: new StructuredLogger(new Config()),
  });
  try {
    const acceptance = app.get(LogAcceptance);
    const standing = await acceptance.standing();
    say(standing);
    if (standing.fault === undefined) return;
    if (values.leaves === undefined) {
      print(`To accept the log in the database: npm run cli -- accept-log --leaves ${standing.size}`);
    } else if (values.leaves === String(standing.size)) {
      await acceptance.accept();
      print(
        'Accepted. Auditors who kept a checkpoint will find that the log was replaced; the entry audit-log.accepted says so.',
      );
    } else {
      print(`Nothing was accepted: the database has ${standing.size} leaves, not ${values.leaves}.`);
      process.exitCode = 1;
    }
  } finally {
    await app.close();
  }
}

function say({ fault, anchor, size, root }: LogStanding): void {
  const signed =
    anchor === undefined ? 'nothing' : `${anchor.size} leaves, root ${Buffer.from(anchor.root).toString('base64')}`;
  print(`The HSM has signed ${signed}.`);
  print(`The database has ${size} leaves, root ${root.toString('base64')}.`);
  print(fault === undefined ? 'There is nothing to accept.' : `${fault.code}: ${fault.message}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
