import { readFile } from 'node:fs/promises';
import { type ClientCommand, text } from '../api/command.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { readJsonObject } from '../../platform/json/strict-json.js';

interface Judged {
  readonly fact: string;
  readonly op: string;
  readonly values: readonly string[];
  readonly given: readonly string[];
  readonly holds: boolean;
}

interface Tried {
  readonly key: string;
  readonly requestId?: string;
  readonly needsApproval: boolean;
  readonly stages: readonly { readonly group: string; readonly threshold: number }[];
  readonly policies: readonly {
    readonly policy: string;
    readonly applies: boolean;
    readonly guards: boolean;
    readonly conditions: readonly Judged[];
    readonly unless: readonly Judged[];
  }[];
}

export const policy: ClientCommand = {
  name: 'policy',
  usage:
    'test [--policy FILE] (--key NAME [--principals A,B] [--claims FILE] [--metadata FILE] | --request ID | --certificate ID)',
  meaning:
    'reports whether a use of a key, an SSH certificate (--principals) or a past request requires approval, and why; with --policy, under that policy alone, which need not exist on the service',
  options: {
    policy: { type: 'string' },
    key: { type: 'string' },
    claims: { type: 'string' },
    metadata: { type: 'string' },
    request: { type: 'string' },
    principals: { type: 'string' },
    certificate: { type: 'string' },
  },
  forms: {
    key: { uses: ['policy', 'key', 'claims', 'metadata', 'principals'], when: 'when a use of a key is tested' },
    request: { uses: ['policy', 'request'], when: 'when a past request is tested' },
    certificate: { uses: ['policy', 'certificate'], when: 'when a past certificate is tested' },
  },
  formOf(options) {
    const given = ['key', 'request', 'certificate'].filter((name) => options[name] !== undefined);
    const [form] = given;
    if (form !== undefined && given.length === 1) return form;
    throw usageError('policy test requires one of --key, --request and --certificate.');
  },
  async run({ options, positionals, api, print }) {
    if (positionals.length !== 1 || positionals[0] !== 'test') throw usageError('Specify: test.');
    const [key, request, certificate] = ['key', 'request', 'certificate'].map((name) => text(options, name));
    const principals = text(options, 'principals')?.split(',');
    const [draft, claims, metadata] = await Promise.all(
      ['policy', 'claims', 'metadata'].map((name) => objectIn(text(options, name))),
    );
    const body = {
      ...(draft === undefined ? {} : { policy: draft }),
      ...(request === undefined ? {} : { requestIds: [request] }),
      ...(certificate === undefined ? {} : { certificateIds: [certificate] }),
      ...(key === undefined ? {} : { uses: [{ key, claims, metadata, certificate: principals && { principals } }] }),
    };
    const client = await api();
    const { results } = (await client.call('POST', '/api/v1/approval-policies/test', { body })) as { results: Tried[] };
    print(results, results.flatMap(linesOf));
    return EXIT.done;
  },
};

function linesOf({ key, needsApproval, stages, policies }: Tried): string[] {
  const asked = stages.map(({ group, threshold }) => `${threshold} of ${group}`).join(', then ');
  return [
    needsApproval ? `${key}: requires approval by ${asked}` : `${key}: requires no approval`,
    ...policies
      .filter(({ guards }) => guards)
      .flatMap(({ policy: name, applies, conditions, unless }) => [
        `  ${applies ? 'applies' : 'does not apply'}: ${name}`,
        ...conditions.map((one) => `    if ${lineOf(one)}`),
        ...unless.map((one) => `    unless ${lineOf(one)}`),
      ]),
  ];
}

function lineOf({ fact, op, values, given, holds }: Judged): string {
  const found = given.length === 0 ? 'not given' : given.join(', ');
  return `${fact} ${op} ${values.join(', ')}: ${holds ? 'holds' : 'does not hold'} (${found})`;
}

async function objectIn(file: string | undefined): Promise<object | undefined> {
  if (file === undefined) return undefined;
  try {
    return readJsonObject(await readFile(file));
  } catch (error) {
    throw new ClientError(EXIT.failed, `Cannot read ${file}: ${(error as Error).message}`);
  }
}
