import { type ClientCommand, type OptionValues, text } from '../api/command.js';
import { usageError } from '../api/exit-codes.js';
import { endBySignal } from '../agent/exec/tool-process.js';
import { runWithKeys } from '../agent/exec/tool-session.js';
import { readAgentKeys } from '../agent/signer/agent-keys.js';
import { askingProgramOf } from '../agent/signer/said-by-client.js';
import { type Purpose, PURPOSES } from '../agent/signer/purposes.js';

export const exec: ClientCommand = {
  name: 'exec',
  usage: '--key NAME[,NAME] [--purpose PURPOSE] [--file-name NAME] [--pin] -- COMMAND [ARGUMENT …]',
  meaning: 'runs a signing tool that finds the keys by PKCS #11, as long as it runs; ends as the tool ends',
  options: {
    key: { type: 'string', short: 'k' },
    purpose: { type: 'string' },
    'file-name': { type: 'string' },
    pin: { type: 'boolean' },
  },
  async run({ options, positionals, environment, api, note }) {
    const [command, ...args] = positionals;
    const names = namesOf(options);
    if (command === undefined || names === undefined) throw usageError('exec takes --key NAME, --, and a command.');
    const purpose = purposeOf(options);
    const client = await api();
    const keys = await readAgentKeys(client, { protocol: 'pkcs11', purpose, names });
    const asking = askingProgramOf(command, args, text(options, 'file-name'));
    const end = await runWithKeys(
      { command, args, keys, purpose, asking, asksForPin: options['pin'] === true },
      { api: client, environment: environment.variables, runtimeDirectory: environment.runtimeDirectory, note },
    );
    endBySignal(end);
    return end.code;
  },
};

/** Names of --key, which are separated by commas. */
export function namesOf(options: OptionValues): string[] | undefined {
  return text(options, 'key')?.split(',');
}

/** What the signatures are for; code by default. */
export function purposeOf(options: OptionValues): Purpose {
  const given = text(options, 'purpose') ?? 'code-signing';
  const known = PURPOSES.find((one) => one === given);
  if (known === undefined) throw usageError(`--purpose is one of ${PURPOSES.join(', ')}.`);
  return known;
}
