import { readAgentKeys } from '../agent/signer/agent-keys.js';
import { type ClientCommand, type Invocation, text } from '../api/command.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { signingKeyNamed } from '../api/signing-keys.js';
import { keySigns } from '../agent/signer/purposes.js';
import { KNOWN_TOOLS, type KnownTool } from '../agent/tools/known-tools.js';
import { examineTool, type ToolFinding } from '../agent/tools/tool-examination.js';

export const doctor: ClientCommand = {
  name: 'doctor',
  usage: '[TOOL] [--key NAME]',
  meaning:
    'reports what a signing tool needs on this machine, and whether a key is suitable for it; without TOOL, for all known tools',
  options: { key: { type: 'string', short: 'k' } },
  forms: {
    all: { uses: [], when: 'without TOOL', isOffline: true },
    machine: { uses: [], when: 'without --key', isOffline: true, maxArguments: 1 },
    key: { uses: ['key'], when: 'with --key', maxArguments: 1 },
  },
  formOf(options, [tool]) {
    if (tool === undefined) return 'all';
    return options['key'] === undefined ? 'machine' : 'key';
  },
  async run(invocation) {
    const { positionals, environment, print } = invocation;
    const [name] = positionals;
    if (name === undefined) return overview(invocation);
    const tool = KNOWN_TOOLS.find((one) => one.name === name);
    if (tool === undefined)
      throw usageError(`Unknown tool "${name}". Known tools: ${KNOWN_TOOLS.map((one) => one.name).join(', ')}.`);
    const findings = [...examineTool(tool, environment.variables), ...(await keyFindings(invocation, tool))];
    const ok = findings.every((one) => one.ok);
    const hint = tool.hint === undefined ? [] : [`note     ${tool.hint}`];
    print({ tool: name, ok, findings, hint: tool.hint }, [...findings.map(lineOf), ...hint]);
    return ok ? EXIT.done : EXIT.failed;
  },
};

function overview({ environment, print }: Invocation): number {
  const all = KNOWN_TOOLS.map((tool) => ({
    tool: tool.name,
    missing: examineTool(tool, environment.variables)
      .filter(({ ok }) => !ok)
      .map(({ detail }) => detail),
  }));
  print(
    all,
    all.map(({ tool, missing }) => `${tool.padEnd(14)} ${missing.length === 0 ? 'ok' : missing.join(' ')}`),
  );
  return EXIT.done;
}

async function keyFindings(
  { options, api }: Invocation,
  { purpose, needsCertificate }: KnownTool,
): Promise<ToolFinding[]> {
  const name = text(options, 'key');
  if (name === undefined) return [];
  try {
    const client = await api();
    const key = await signingKeyNamed(client, name);
    if (!keySigns(key.purpose, purpose))
      return [
        { ok: false, detail: `Key "${name}" is for ${key.purpose}, but the tool requires a key for ${purpose}.` },
      ];
    if (needsCertificate && key.certificateId === undefined)
      return [
        { ok: false, detail: `Key "${name}" has no certificate. Run "sealwright certify ${name}", or import one.` },
      ];
    const notes: string[] = [];
    if (needsCertificate)
      await readAgentKeys(client, { protocol: 'pkcs11', purpose, names: [name], note: (line) => notes.push(line) });
    return [{ ok: true, detail: [`key ${name} is for ${key.purpose}`, ...notes].join('; ') }];
  } catch (error) {
    if (error instanceof ClientError) return [{ ok: false, detail: error.message }];
    throw error;
  }
}

function lineOf({ ok, detail }: ToolFinding): string {
  return `${ok ? 'ok      ' : 'MISSING '} ${detail}`;
}
