import { awaited, secondsOf } from '../api/request-polling.js';
import { type ClientCommand, type Invocation, type OptionValues, text } from '../api/command.js';
import { ClientError, EXIT, type ExitCode, usageError } from '../api/exit-codes.js';
import { OutputFile } from '../api/output-file.js';
import { signingKeyNamed } from '../api/signing-keys.js';

/** Response from the service. The certificate is present after the request is signed. */
interface Made {
  readonly status: string;
  readonly requestId: string;
  readonly approvalId?: string;
  readonly certificate?: { readonly subject: string; readonly notAfter: string; readonly chain: readonly string[] };
}

/** Options for the parts of the subject name, each with its name in the API. */
const NAME_OPTIONS = {
  'common-name': 'commonName',
  organization: 'organization',
  'organizational-unit': 'organizationalUnit',
  locality: 'locality',
  state: 'state',
  country: 'country',
} as const;

export const certify: ClientCommand = {
  name: 'certify',
  usage:
    'KEY --common-name NAME [--organization NAME] [--organizational-unit NAME] [--locality NAME] [--state NAME] [--country CC] [--not-after TIME] [--wait SECONDS] [--out FILE]',
  meaning: 'creates a self-signed certificate for a key, for tools that require one; repeat the command to continue',
  options: {
    ...Object.fromEntries(Object.keys(NAME_OPTIONS).map((name) => [name, { type: 'string' as const }])),
    'not-after': { type: 'string' },
    wait: { type: 'string' },
    out: { type: 'string' },
  },
  async run(invocation) {
    const { options, positionals } = invocation;
    const [name, ...more] = positionals;
    if (name === undefined || more.length > 0) throw usageError('certify requires exactly one key.');
    const body = { subject: subjectOf(options), notAfter: timeOf(text(options, 'not-after')) };
    const seconds = secondsOf(text(options, 'wait'));
    const out = text(options, 'out');
    const file = out === undefined ? undefined : await OutputFile.reserve(out);
    const api = await invocation.api();
    const { id } = await signingKeyNamed(api, name);
    const ask = (): Promise<Made> =>
      api.call('POST', `/api/v1/signing-keys/${id}/self-signed-certificate`, { body, repeatable: true });
    const first = await ask();
    if (first.certificate !== undefined) return finish(invocation, first, file);
    const request = await awaited(api, first.requestId, seconds);
    if (request.status === 'FAILED')
      throw new ClientError(EXIT.failed, `${request.failure?.detail} [${request.failure?.code}]`);
    return finish(invocation, request.status === 'SIGNED' ? await ask() : first, file);
  },
};

function subjectOf(options: OptionValues): Record<string, string> {
  if (text(options, 'common-name') === undefined) throw usageError('certify requires --common-name NAME.');
  const given = Object.entries(NAME_OPTIONS).map(([option, part]) => [part, text(options, option)] as const);
  return Object.fromEntries(given.filter((pair): pair is readonly [(typeof pair)[0], string] => pair[1] !== undefined));
}

function timeOf(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const at = new Date(given);
  if (Number.isNaN(at.getTime())) throw usageError('--not-after must be a time, for example 2036-01-01T00:00:00Z.');
  return at.toISOString();
}

async function finish({ note, print }: Invocation, made: Made, file: OutputFile | undefined): Promise<ExitCode> {
  const { status, requestId, certificate } = made;
  if (certificate === undefined) {
    note(`Not signed yet (${status}, request ${requestId}). Repeat the command to continue, or use --wait.`);
    print(made, [requestId]);
    return EXIT.pending;
  }
  const pem = certificate.chain.join('');
  await file?.write(pem, { requestId });
  print(made, [file?.path ?? pem.trimEnd()]);
  return EXIT.done;
}
