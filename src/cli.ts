import { acceptLog } from './cli/accept-log.command.js';
import { doctor } from './cli/doctor.command.js';
import { migrate } from './cli/migrate.command.js';
import { openapi } from './cli/openapi.command.js';
import { restore } from './cli/restore.command.js';
import { reseal, retryPin, rotateSealingKey } from './cli/secrets.commands.js';
import { reconcileCounts } from './cli/reconcile-counts.command.js';
import { seedDemo } from './cli/seed-demo.command.js';
import { start } from './start.js';

const COMMANDS: Record<string, (args: string[]) => Promise<void>> = {
  'accept-log': acceptLog,
  doctor,
  migrate,
  openapi,
  reseal,
  restore,
  'retry-pin': retryPin,
  'rotate-sealing-key': rotateSealingKey,
  'reconcile-counts': reconcileCounts,
  'seed-demo': seedDemo,
};

const [name = '', ...args] = process.argv.slice(2);
const command = COMMANDS[name];
if (command === undefined) {
  process.stderr.write(`Usage: cli <${Object.keys(COMMANDS).join('|')}>\n`);
  process.exit(2);
}
await start(() => command(args));
// What the libraries keep open (sockets, timers) must not keep a finished command alive.
process.exit(process.exitCode ?? 0);
