import { acceptLog } from './cli/accept-log.command.js';
import { backup } from './cli/backup.command.js';
import { doctor } from './cli/doctor.command.js';
import { migrate, reconcileCounts } from './cli/database.commands.js';
import { openapi } from './cli/openapi.command.js';
import { runProgram } from './cli/program.js';
import { restore } from './cli/restore.command.js';
import { reseal, retryPin, rotateSealingKey, sealRows } from './cli/secrets.commands.js';
import { user } from './cli/user.command.js';
import { seedDemo } from './cli/seed-demo.command.js';
import { setup } from './cli/setup.command.js';

/** Commands in the order of the help text, starting with the commands that an operator needs first. */
const COMMANDS = [
  setup,
  doctor,
  migrate,
  backup,
  restore,
  reseal,
  rotateSealingKey,
  sealRows,
  retryPin,
  reconcileCounts,
  acceptLog,
  user,
  seedDemo,
  openapi,
];

const code = await runProgram(COMMANDS, process.argv.slice(2));
// Libraries may keep sockets and timers open, which would keep the process alive after the command has finished.
process.exit(code);
