import { type ClientCommand, type OptionValues, text } from '../api/command.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { signNoted } from '../agent/collect/batch-signing.js';
import { NotedOrders } from '../agent/collect/noted-orders.js';
import { endBySignal, type ToolEnd } from '../agent/exec/tool-process.js';
import { runWithKeys, type ToolOrder, type ToolSurroundings } from '../agent/exec/tool-session.js';
import { type AgentKey, readAgentKeys } from '../agent/signer/agent-keys.js';
import { askingProgramOf } from '../agent/signer/agent-metadata.js';
import { type AgentPurpose, AGENT_PURPOSES } from '../agent/signer/purposes.js';

export const exec: ClientCommand = {
  name: 'exec',
  usage: '--key NAME[,NAME] [--purpose PURPOSE] [--file-name NAME] [--pin] [--collect] -- COMMAND [ARGUMENT …]',
  meaning: 'runs a signing tool that can use the keys over PKCS #11 while it runs; returns the exit code of the tool',
  options: {
    key: { type: 'string', short: 'k' },
    purpose: { type: 'string' },
    'file-name': { type: 'string' },
    pin: { type: 'boolean' },
    collect: { type: 'boolean' },
  },
  forms: {
    exec: { uses: ['key', 'purpose', 'file-name', 'pin', 'collect'], when: 'when a tool is run', isSilent: true },
  },
  async run({ options, positionals, environment, api, note }) {
    const [command, ...args] = positionals;
    const names = namesOf(options);
    if (command === undefined || names === undefined) throw usageError('exec requires --key NAME, --, and a command.');
    const purpose = purposeOption(options);
    const client = await api();
    const keys = await readAgentKeys(client, { protocol: 'pkcs11', purpose, names, note });
    noteMissingCertificates(keys, purpose, note);
    const asking = askingProgramOf(command, args, text(options, 'file-name'));
    const order = { command, args, keys, purpose, asking, asksForPin: options['pin'] === true };
    const { variables, runtimeDirectory } = environment;
    const surroundings = { api: client, environment: variables, runtimeDirectory, note };
    const end =
      options['collect'] === true ? await runTwice(order, surroundings) : await runWithKeys(order, surroundings);
    endBySignal(end);
    return end.code;
  },
};

/**
 * Runs the tool once to record the requested digests, has the digests signed together, and runs the tool again. The output of the first run concerns missing
 * signatures, so the output is printed only if there is no second run.
 */
async function runTwice(order: ToolOrder, surroundings: ToolSurroundings): Promise<ToolEnd> {
  const { api, note } = surroundings;
  const noted = new NotedOrders();
  const first = await runWithKeys(
    { isQuiet: true, ...order, sign: (asked) => noted.note(asked, order.asking.fileName) },
    surroundings,
  );
  if (noted.all.length === 0 || first.signal !== null) {
    process.stderr.write(first.printed);
    return first;
  }
  note(`sealwright: ${order.command} needs ${noted.all.length} signatures; requesting them together`);
  const answered = await signNoted(api, noted.all, { asking: order.asking, note });
  const failure = answered.firstFailure;
  if (failure !== undefined) throw new ClientError(EXIT.failed, `Signing failed (${failure.kind}): ${failure.detail}`);
  return runWithKeys({ ...order, sign: (asked) => answered.answer(asked, note) }, surroundings);
}

/** Reports keys that some tools cannot find because the keys have no certificate. SSH keys need no certificate. */
export function noteMissingCertificates(
  keys: readonly AgentKey[],
  purpose: AgentPurpose,
  note: (line: string) => void,
): void {
  if (purpose === 'ssh-login') return;
  for (const { name, chain } of keys)
    if (chain.length === 0)
      note(
        `sealwright: key ${name} has no certificate, so Java and other tools cannot find it. Run: sealwright certify ${name}`,
      );
}

/** Returns the comma-separated names in --key. */
export function namesOf(options: OptionValues): string[] | undefined {
  return text(options, 'key')?.split(',');
}

/** Returns the value of --purpose. Default: code-signing. */
export function purposeOption(options: OptionValues): AgentPurpose {
  const given = text(options, 'purpose') ?? 'code-signing';
  const known = AGENT_PURPOSES.find((one) => one === given);
  if (known === undefined) throw usageError(`--purpose must be one of ${AGENT_PURPOSES.join(', ')}.`);
  return known;
}
