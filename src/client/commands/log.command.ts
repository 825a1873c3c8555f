import { createReadStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { base64Bytes } from '../../formats/encoding/base64.js';
import { type LogFinding, LogVerifier, provesGrowth } from '../../verifier/log-verifier.js';
import { openNote } from '../../verifier/signed-note.js';
import { type ClientCommand, type Invocation, text } from '../api/command.js';
import { ClientError, EXIT, type ExitCode, usageError } from '../api/exit-codes.js';
import { type LogState, type LogTrust, readTrust, writeState } from '../api/log-trust.js';

const EXPORT = '/api/v1/audit/log/export';

/** Result of checking the log. */
interface Verdict {
  readonly size: number;
  readonly findings: readonly LogFinding[];
  readonly notes: readonly string[];
  /** State to store if the check finds no fault. */
  readonly seen: LogState | undefined;
}

export const log: ClientCommand = {
  name: 'log',
  usage: 'verify [FILE|-|URL] [--key FILE] [--state FILE] [--quick] | key',
  meaning:
    'verifies the audit log, or an export of it, entry by entry and reports the first fault; `key` prints the public key for safekeeping',
  options: { key: { type: 'string' }, state: { type: 'string' }, quick: { type: 'boolean' } },
  forms: {
    key: { uses: [], when: 'when the log key is printed' },
    service: { uses: ['key', 'state', 'quick'], when: 'when the log of the service is verified' },
    address: { uses: ['key', 'state', 'quick'], when: 'when a URL is given as an argument', isOffline: true },
    file: { uses: ['key', 'state'], when: 'when a file is verified', isOffline: true },
  },
  formOf(_options, [what, place]) {
    if (what === 'key') return 'key';
    if (place === undefined) return 'service';
    return isUrl(place) ? 'address' : 'file';
  },
  async run(invocation) {
    const { options, positionals, api, print } = invocation;
    const [what, place, ...more] = positionals;
    if (what === 'key' && place === undefined) {
      const key = await (await api()).call('GET', '/api/v1/audit/log/key');
      print(key, [(key.publicKey as string).trimEnd()]);
      return EXIT.done;
    }
    if (what !== 'verify' || more.length > 0) throw usageError('Specify one of: verify [FILE|-|URL], key.');
    const stateFile = text(options, 'state');
    const trust = await readTrust(text(options, 'key'), stateFile);
    if (trust.publicKey === undefined)
      invocation.note(
        'No --key was given, so the key in the export is trusted. This only shows that the export is consistent.',
      );
    const verdict =
      options['quick'] === true ? await quick(invocation, trust, place) : await whole(invocation, trust, place);
    return printed(invocation, verdict, stateFile);
  },
};

/** Verifies every entry, from a file or from the service. */
async function whole({ api }: Invocation, trust: LogTrust, place: string | undefined): Promise<Verdict> {
  const verifier = new LogVerifier({ publicKey: trust.publicKey, olderNote: trust.state?.checkpoint });
  const url = isUrl(place) ? place : undefined;
  const isFile = place !== undefined && url === undefined;
  const source = isFile
    ? place === '-'
      ? process.stdin
      : createReadStream(place)
    : await (await api(url)).stream(EXPORT);
  for await (const lines of linesOf(source, place ?? 'the log')) for (const line of lines) verifier.line(line);
  const { size, findings, notes, checkpoint } = verifier.end();
  const seen = checkpoint && {
    log: checkpoint.origin,
    publicKey: checkpoint.publicKey.toString('base64'),
    checkpoint: checkpoint.note,
  };
  return { size, findings, notes, seen };
}

/** Checks only that the log extends the last verified state, with a consistency proof (RFC 6962 section 2.1.2). */
async function quick({ api }: Invocation, { state, publicKey }: LogTrust, place: string | undefined): Promise<Verdict> {
  if (state === undefined || publicKey === undefined)
    throw usageError('--quick requires an earlier verified state. First verify the whole log with --state.');
  if (place !== undefined && !isUrl(place))
    throw usageError('--quick cannot be used with a file, because it queries the service.');
  const before = openNote(state.checkpoint, publicKey);
  if (before === undefined)
    throw new ClientError(EXIT.failed, 'The checkpoint in the state file is not signed with the log key.');
  const client = await api(place);
  const { note } = (await client.call('GET', '/api/v1/audit/log/checkpoint')) as { note: string };
  const now = openNote(note, publicKey);
  if (now === undefined) return broken('the checkpoint is not signed with the log key', 0);
  const { size } = now;
  if (now.origin !== before.origin)
    return broken(`the log is now named ${now.origin} (before: ${before.origin}). Verify it without --quick`, size);
  if (size < before.size)
    return broken(
      `the older checkpoint covers ${before.size} leaves, but the newest checkpoint covers only ${size}: the log was rolled back`,
      size,
    );
  const { path } = await client.call('GET', `/api/v1/audit/log/consistency?first=${before.size}&second=${size}`);
  const hashes = (path as string[]).map((hash) => base64Bytes(hash));
  if (!provesGrowth(before, now, hashes))
    return broken(`the log of ${size} leaves does not continue the log of ${before.size} leaves: it was forked`, size);
  return { size, findings: [], notes: [], seen: { ...state, checkpoint: note } };
}

function broken(detail: string, size: number): Verdict {
  return { size, findings: [{ detail }], notes: [], seen: undefined };
}

async function printed({ print }: Invocation, verdict: Verdict, stateFile: string | undefined): Promise<ExitCode> {
  const { size, findings, notes, seen } = verdict;
  const valid = findings.length === 0;
  const firstWrong = findings.find(({ index }) => index !== undefined)?.index;
  if (valid && stateFile !== undefined && seen !== undefined) await writeState(stateFile, seen);
  const sum = firstWrong === undefined ? 'NOT VALID' : `NOT VALID: the first invalid entry is number ${firstWrong}`;
  print({ valid, log: seen?.log, size, firstWrong, findings, notes, checkpoint: seen?.checkpoint }, [
    ...findings.map(({ index, detail }) => `BAD ${index === undefined ? '' : `${index}: `}${detail}`),
    ...notes.map((note) => `NOTE ${note}`),
    valid ? `valid: ${size} entries` : sum,
  ]);
  return valid ? EXIT.done : EXIT.failed;
}

function isUrl(place: string | undefined): place is string {
  return place !== undefined && /^https?:\/\//.test(place);
}

/** Maximum number of characters in a line. An audit entry has a few thousand characters. */
const MAX_LINE_LENGTH = 16_777_216;

/**
 * linesOf yields the lines of a stream in groups, without holding the whole stream in memory. `name` identifies the stream in errors.
 *
 * @throws ClientError if the stream ends early
 */
export async function* linesOf(stream: AsyncIterable<unknown>, name: string): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of stream) {
      const lines = `${rest}${decoder.write(chunk as Buffer)}`.split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE_LENGTH) throw new Error('a line is too long to be a log entry');
      yield lines;
    }
  } catch (error) {
    const { message, cause } = error as Error;
    throw new ClientError(EXIT.failed, `Cannot read ${name}: ${cause instanceof Error ? cause.message : message}`);
  }
  rest += decoder.end();
  if (rest !== '') yield [rest];
}
