import { text, type ClientCommand, type Invocation, type OptionValues } from '../api/command.js';
import { awaited, secondsOf } from '../api/request-polling.js';
import { EXIT, usageError } from '../api/exit-codes.js';
import { finishRequest, signDetached } from '../signing/detached-signing.js';
import { signFiles } from '../signing/file-signing.js';
import { pathsOf, toolsOf } from '../signing/sign-targets.js';

const OF_EACH = ['key', 'algorithm', 'timestamp', 'reference', 'wait'];

export const sign: ClientCommand = {
  name: 'sign',
  usage:
    'FILE|DIRECTORY … --key NAME [--format raw|cms|jws|sigstore-bundle] [--algorithm sha256|…] [--scheme SCHEME] [--timestamp] [--reference TEXT] [--wait SECONDS] [--out FILE] [--authorities FILE] [--collect] | FILE --request ID',
  meaning:
    'hashes the file locally, has the digest signed, and writes the signature next to the file; without --format, .exe, .jar and similar files are signed in place with the tool for them; several files are signed under one approval',
  options: {
    key: { type: 'string', short: 'k' },
    format: { type: 'string', short: 'f' },
    algorithm: { type: 'string', short: 'a' },
    scheme: { type: 'string' },
    timestamp: { type: 'boolean' },
    reference: { type: 'string' },
    wait: { type: 'string' },
    out: { type: 'string' },
    request: { type: 'string' },
    authorities: { type: 'string' },
    collect: { type: 'boolean' },
  },
  forms: {
    detached: { uses: [...OF_EACH, 'format', 'scheme', 'out'], when: 'on a file that gets a detached signature' },
    'many detached': {
      uses: [...OF_EACH, 'format', 'scheme', 'collect'],
      when: 'on several files that get detached signatures',
    },
    embedded: { uses: [...OF_EACH, 'out', 'authorities', 'collect'], when: 'on a file with an embedded signature' },
    'many embedded': {
      uses: [...OF_EACH, 'authorities', 'collect'],
      when: 'on several files with embedded signatures',
    },
    mixed: {
      uses: [...OF_EACH, 'scheme', 'authorities', 'collect'],
      when: 'on several files, some with embedded signatures',
    },
    request: {
      uses: ['request', 'key', 'format', 'algorithm', 'wait', 'out'],
      when: 'when an earlier request is completed',
    },
  },
  formOf,
  async run(invocation) {
    const { options, positionals } = invocation;
    const id = text(options, 'request');
    const isDetached = text(options, 'format') !== undefined || id !== undefined;
    const paths = await pathsOf(positionals, { isDetached, note: invocation.note });
    const [file, ...more] = paths;
    if (file === undefined) throw usageError('sign requires at least one file.');
    if (id !== undefined && more.length > 0) throw usageError('--request can be combined with only one file.');
    if (id !== undefined) return finishEarlier(invocation, file, id);
    const targets = toolsOf(paths, options);
    const isSingle = options['collect'] !== true && targets.length === 1;
    if (isSingle && targets[0]?.tool === undefined) return signDetached(invocation, file);
    return signFiles(invocation, targets, isSingle);
  },
};

/** Returns the form, based only on the options and file names. An invalid option is therefore rejected before a file is read or the service is called. */
async function formOf(options: OptionValues, positionals: readonly string[]): Promise<string | undefined> {
  if (options['request'] !== undefined) return 'request';
  const targets = toolsOf(await pathsOf(positionals, { isDetached: options['format'] !== undefined }), options);
  const embedded = targets.filter(({ tool }) => tool !== undefined).length;
  if (targets.length === 0) return undefined;
  if (targets.length === 1 && embedded === 0) return options['collect'] === true ? 'many detached' : 'detached';
  if (targets.length === 1) return 'embedded';
  if (embedded === 0) return 'many detached';
  return embedded === targets.length ? 'many embedded' : 'mixed';
}

async function finishEarlier(invocation: Invocation, file: string, id: string): Promise<number> {
  const seconds = secondsOf(text(invocation.options, 'wait'));
  const request = await awaited(await invocation.api(), id, seconds);
  return finishRequest(invocation, file, request);
}

export const request: ClientCommand = {
  name: 'request',
  usage: 'ID [--wait SECONDS]',
  meaning: 'shows a signing request; exits with 0 if it is signed, 1 if it failed, 5 while it is pending',
  options: { wait: { type: 'string' } },
  async run({ options, positionals, api, print }) {
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw usageError('request requires exactly one ID.');
    const found = await awaited(await api(), id, secondsOf(text(options, 'wait')));
    const { status, key, failure, signature } = found;
    const failures = failure === undefined ? [] : [`${failure.detail} [${failure.code}]`];
    print(found, [
      `${status} by ${key.name} v${key.version}`,
      ...failures,
      ...(signature === undefined ? [] : [signature]),
    ]);
    if (status === 'SIGNED') return EXIT.done;
    return status === 'FAILED' ? EXIT.failed : EXIT.pending;
  },
};
