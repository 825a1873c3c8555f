import { parseArgs } from 'node:util';
import { ConfigError } from '../platform/config/config.js';
import { isCertificateFault, isDatabaseTrouble, operatorsWords, sqlState } from '../platform/errors/database-error.js';
import { PRODUCT_BUILD, PRODUCT_COMMIT, PRODUCT_VERSION } from '../platform/observability/product-version.js';
import { redacted } from '../platform/observability/structured-logger.js';
import { type AdminCommand, AdminError, ADMIN_EXIT, note, print } from './command.js';

const NAME = 'sealwright-admin';
const MIN_COLUMN = 22;

/** runProgram runs one command and returns its exit code. Invalid arguments are rejected before any store is opened. */
export async function runProgram(commands: readonly AdminCommand[], argv: readonly string[]): Promise<number> {
  const [name = 'help', ...args] = argv;
  try {
    if (['help', '--help', '-h'].includes(name)) return help(commands, args[0]);
    if (name === '--version') return version(args);
    const command = find(commands, name);
    if (args.includes('--help') || args.includes('-h')) return help(commands, name);
    await run(command, args);
    return Number(process.exitCode ?? ADMIN_EXIT.done);
  } catch (error) {
    return failure(error);
  }
}

async function run(command: AdminCommand, args: string[]): Promise<void> {
  try {
    await command.run(args);
  } catch (error) {
    if (!isWrongCall(error)) throw error;
    throw new AdminError(`${error.message}\n${usageOf(command).join('\n')}`, ADMIN_EXIT.usage);
  }
}

/** Reports whether `parseArgs` rejected the arguments: its errors are TypeErrors with a code for each kind of invalid argument. */
function isWrongCall(error: unknown): error is TypeError {
  return error instanceof TypeError && String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS');
}

function find(commands: readonly AdminCommand[], name: string): AdminCommand {
  const command = commands.find((one) => one.name === name);
  if (command !== undefined) return command;
  throw new AdminError(`Unknown command "${name}". See: ${NAME} help`, ADMIN_EXIT.usage);
}

function failure(error: unknown): number {
  if (error instanceof ConfigError || error instanceof AdminError) {
    note(`${NAME}: ${redacted(error.message)}`);
    return error instanceof AdminError ? error.exitCode : ADMIN_EXIT.usage;
  }
  const isDatabase = sqlState(error) !== undefined || isDatabaseTrouble(error) || isCertificateFault(error);
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  note(`${NAME}: ${redacted(isDatabase ? `database: ${operatorsWords(error)}` : stack)}`);
  return ADMIN_EXIT.failed;
}

function version(args: string[]): number {
  const { values } = parseArgs({ args, options: { json: { type: 'boolean', default: false } } });
  print(values.json ? JSON.stringify({ version: PRODUCT_VERSION, commit: PRODUCT_COMMIT }) : PRODUCT_BUILD);
  return ADMIN_EXIT.done;
}

function help(commands: readonly AdminCommand[], name: string | undefined): number {
  print(...(name === undefined ? overview(commands) : explanation(find(commands, name))));
  return ADMIN_EXIT.done;
}

function overview(commands: readonly AdminCommand[]): string[] {
  const width = Math.max(MIN_COLUMN, ...commands.map(({ name }) => name.length + 2));
  return [
    `${NAME} ${PRODUCT_BUILD}: administers an installation of Sealwright.`,
    '',
    'Run it on a machine that can reach the database, with the settings of the service (SVC_…).',
    `To diagnose a problem, start with: ${NAME} doctor`,
    '',
    ...commands.map(({ name: word, summary }) => `  ${word.padEnd(width)}${summary}`),
    '',
    `  ${NAME} help COMMAND   describes a command, its requirements and its effects`,
    `  ${NAME} --version`,
    '',
    'Exit codes: 0 success, 1 failure or a fault was found, 2 invalid usage or settings, 3 another process is already',
    'running the operation.',
  ];
}

function explanation(command: AdminCommand): string[] {
  const { summary, details, codes = [] } = command;
  const ends = codes.length === 0 ? [] : ['', ...codes];
  return [...usageOf(command), '', `${summary}.`, '', ...details, ...ends];
}

function usageOf({ name, usage }: AdminCommand): string[] {
  return usage.map((words, at) => `${at === 0 ? 'Usage: ' : '       '}${NAME} ${name} ${words}`.trimEnd());
}
