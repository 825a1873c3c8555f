import { parseArgs } from 'node:util';
import { forTerminal } from '../../platform/text/truncate.js';
import { ApiClient } from '../api/api-client.js';
import { type ClientCommand, type OptionValues, text } from '../api/command.js';
import { assertEffective, ReadOptions } from '../api/command-forms.js';
import { CLIENT_BUILD } from '../api/client-version.js';
import { isSystemError, systemFailure } from '../api/output-file.js';
import { readEnvironment, type ClientEnvironment } from '../api/transport.js';
import { ClientError, EXIT, type ExitCode, usageError } from '../api/exit-codes.js';
import { bom } from './bom.command.js';
import { agent } from './agent.command.js';
import { attest } from './attest.command.js';
import { certify } from './certify.command.js';
import { doctor } from './doctor.command.js';
import { evidence } from './evidence.command.js';
import { exec } from './exec.command.js';
import { keys } from './keys.command.js';
import { log } from './log.command.js';
import { login } from './login.command.js';
import { policy } from './policy.command.js';
import { request, sign } from './sign.command.js';
import { ssh } from './ssh.command.js';
import { sensor } from './sensor.command.js';
import { verify } from './verify.command.js';
import { wrappers } from './wrappers.command.js';
import { gpg } from '../gpg/gpg-program.js';
import { gpgconf } from '../gpg/real-gpg.js';
import { notationPlugin } from '../signing/notation-plugin.js';

/** COMMANDS lists all commands in the order of the help. */
export const COMMANDS: readonly ClientCommand[] = [
  login,
  sign,
  verify,
  attest,
  exec,
  agent,
  wrappers,
  doctor,
  keys,
  certify,
  request,
  log,
  evidence,
  policy,
  ssh,
  bom,
  sensor,
];

export const COMMON = {
  url: { type: 'string' },
  output: { type: 'string', short: 'o' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Runs one command of the program and returns the exit code. */
export async function run([name = 'help', ...args]: readonly string[]): Promise<number> {
  try {
    if (['help', '--help', '-h'].includes(name)) return help();
    if (['--version', '-V'].includes(name)) return version();
    const program = PROGRAMS[name];
    if (program !== undefined) return await program(args, readEnvironment());
    const command = COMMANDS.find((one) => one.name === name);
    if (command === undefined) throw usageError(`Unknown command "${name}". See: sealwright help`);
    return await runCommand(command, args);
  } catch (error) {
    const failure = isSystemError(error) ? systemFailure(error) : error;
    if (!(failure instanceof ClientError)) throw failure;
    process.stderr.write(`sealwright: ${forTerminal(failure.message)}\n`);
    return failure.exitCode;
  }
}

function version(): number {
  process.stdout.write(`${CLIENT_BUILD}\n`);
  return EXIT.done;
}

async function runCommand(command: ClientCommand, args: string[]): Promise<number> {
  const { values, positionals } = parsed(command, args);
  if (values['help'] === true) return help(command);
  const { url: _url, output = 'text', ...own } = values;
  if (output !== 'text' && output !== 'json') throw usageError('-o must be text or json.');
  await assertEffective(command, values, positionals);
  const environment = readEnvironment();
  const options = new ReadOptions(own);
  const code = await command.run({
    options: options.values,
    positionals,
    environment,
    url: text(values, 'url'),
    api: (address = text(values, 'url')) => ApiClient.open(environment, address),
    print: (json, lines) => {
      const shown = output === 'json' ? [JSON.stringify(json, null, 2)] : lines;
      process.stdout.write(shown.map((line) => `${forTerminal(line)}\n`).join(''));
    },
    note: (line) => void process.stderr.write(`${forTerminal(line)}\n`),
  });
  if (code === EXIT.done) options.assertAllRead(command.name);
  return code;
}

function parsed(command: ClientCommand, args: string[]): { values: OptionValues; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { ...command.options, ...COMMON },
      allowPositionals: true,
    });
    return { values, positionals };
  } catch (error) {
    throw usageError(`${error instanceof Error ? error.message : 'invalid arguments'}\nUsage: ${usageOf(command)}`);
  }
}

function usageOf({ name, usage }: ClientCommand): string {
  return `sealwright ${name} ${usage}`.trimEnd();
}

function help(only?: ClientCommand): ExitCode {
  const commands = only === undefined ? COMMANDS : [only];
  const lines = commands.flatMap((command) => [`  ${usageOf(command)}`, `      ${command.meaning}`]);
  const common =
    '  --url URL (or SEALWRIGHT_URL), SEALWRIGHT_TOKEN, -o text|json; SEALWRIGHT_ALLOW_HTTP=yes for http:// to other machines';
  const codes = '  Exit codes: 0 done, 1 failed, 2 usage, 3 not logged in, 4 denied, 5 pending.';
  process.stdout.write(['Usage:', ...lines, common, codes, ''].join('\n'));
  return EXIT.done;
}

/** Runs a program and returns its exit code. */
type Program = (args: readonly string[], environment: ClientEnvironment) => Promise<number>;

const apiOf = (environment: ClientEnvironment) => () => ApiClient.open(environment, undefined);

/**
 * PROGRAMS contains replacements for third-party programs, by their first argument. They parse arguments like the original programs. The wrappers call them.
 */
export const PROGRAMS: Readonly<Record<string, Program>> = {
  gpg: (args, environment) => gpg(args, { variables: environment.variables, api: apiOf(environment) }),
  gpgconf: (args, environment) => gpgconf(args, environment.variables),
  notation: (args, environment) => notationPlugin(args, apiOf(environment)),
};
