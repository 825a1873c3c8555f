import { type ClientCommand, type Invocation, type OptionValues, text } from '../api/command.js';
import { EXIT, type ExitCode, usageError } from '../api/exit-codes.js';
import { isEndpoint } from '../sensor/endpoints/endpoint.js';
import { type Finished, SensorAgent, type Settings } from '../sensor/sensor.js';
import { Spool } from '../sensor/spool.js';
import { readTextFile } from '../../platform/text/text-file.js';

const PATIENCE_S = 300;

export const sensor: ClientCommand = {
  name: 'sensor',
  usage: '[PATH | tls://HOST[:PORT] | ssh://HOST[:PORT] …] [--source NAME] [--stay] [--spool DIRECTORY]',
  meaning: 'scans files and endpoints for certificates, keys and cryptography, and reports them to the inventory',
  options: {
    source: { type: 'string' },
    exclude: { type: 'string' },
    'store-passwords': { type: 'string' },
    spool: { type: 'string' },
    patience: { type: 'string' },
    stay: { type: 'boolean' },
  },
  forms: {
    once: {
      uses: ['source', 'exclude', 'store-passwords', 'spool', 'patience'],
      when: 'when files are scanned once',
    },
    endpoints: { uses: ['source', 'spool', 'patience'], when: 'when only endpoints are scanned' },
    stay: {
      uses: ['source', 'exclude', 'store-passwords', 'spool', 'stay'],
      when: 'with --stay, which retries until it is stopped',
    },
  },
  formOf(options, positionals) {
    if (options['stay'] === true) return 'stay';
    return positionals.length > 0 && positionals.every(isEndpoint) ? 'endpoints' : 'once';
  },
  async run(invocation) {
    const { options, environment, note } = invocation;
    const api = await invocation.api();
    const spool = await Spool.open(text(options, 'spool') ?? environment.spoolDirectory);
    try {
      const storePasswords = await passwordsIn(text(options, 'store-passwords'));
      const settings = settingsOf(invocation);
      const stays = options['stay'] === true;
      const patienceMs = stays ? Infinity : patienceOf(options);
      const worker = new SensorAgent(api, spool, { settings, storePasswords, patienceMs, note });
      if (stays) return await worker.stay((finished) => show(invocation, [finished]));
      return show(invocation, await worker.once());
    } finally {
      await spool.close();
    }
  },
};

function settingsOf({ positionals, options }: Invocation): Settings {
  const endpoints = positionals.filter(isEndpoint);
  const paths = positionals.filter((one) => !isEndpoint(one));
  const targets = positionals.length === 0 ? {} : { paths, endpoints };
  return { ...targets, source: text(options, 'source'), exclude: text(options, 'exclude')?.split(',') };
}

function patienceOf(options: OptionValues): number {
  const seconds = Number(text(options, 'patience') ?? PATIENCE_S);
  if (Number.isInteger(seconds) && seconds >= 0) return seconds * 1000;
  throw usageError('--patience must be a whole number of seconds, 0 or more.');
}

/** Reads passwords from a file, one per line, because arguments are visible to every user of the machine. */
async function passwordsIn(file: string | undefined): Promise<string[]> {
  if (file === undefined) return [];
  const content = await readTextFile(file).catch(() => undefined);
  if (content === undefined) throw usageError(`Cannot read ${file}.`);
  return content.split(/\r?\n/).filter((line) => line !== '');
}

function show({ print }: Invocation, finished: readonly Finished[]): ExitCode {
  const lines = finished.map(({ detail, created, updated, unchanged, rejected, refused }) => {
    const more = rejected + refused === 0 ? '' : `, ${rejected} items and ${refused} batches rejected`;
    return `${detail}: ${created} new, ${updated} changed, ${unchanged} unchanged${more}`;
  });
  print(finished, lines);
  return finished.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
}
