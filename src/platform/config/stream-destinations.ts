export const STREAM_FORMATS = ['json', 'ocsf', 'cef'] as const;
export type StreamFormat = (typeof STREAM_FORMATS)[number];

/** StreamDestination is a receiver of the audit log. Secret or long values are stored in files, which are read for each connection. */
export interface StreamDestination {
  /** Name of the destination's cursor in the database. A destination with a new name starts with a new cursor. */
  readonly name: string;
  /** `syslog`: RFC 5424 over TLS (RFC 5425). `https`: JSON lines sent by POST. */
  readonly kind: 'syslog' | 'https';
  readonly url: URL;
  readonly format: StreamFormat;
  /** Whether to send entries from before the destination was configured. */
  readonly from: 'now' | 'start';
  /** Maximum message size in bytes. */
  readonly maxBytes: number;
  /** syslog: maximum age in seconds of sent messages that may be sent again, in case a receiver stopped before storing the messages. */
  readonly resendSeconds: number;
  /** syslog: private enterprise number in the SD-ID of the structured data (RFC 5424 section 7.2.2). */
  readonly enterprise: string;
  /** Paths of PEM files: CA certificates for the receiver, and the client certificate with its private key. */
  readonly files: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly authorization?: string;
  };
}

const NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;
const SYSLOG_PORT = '6514';
/** RFC 5425 section 4.3.1: receivers must accept 2048 octets and should accept 8192. */
const MIN_BYTES = 2048;
const DEFAULT_BYTES = 8192;
const MAX_BYTES = 1024 * 1024;
const DEFAULT_RESEND_SECONDS = 30;
/** Maximum of `resend-seconds`; shorter than the delay of the alert rule for streams. */
const MAX_RESEND_SECONDS = 240;
/** Enterprise number reserved for documentation (RFC 5612). Organizations use their own number. */
const DOCUMENTATION_ENTERPRISE = '32473';

const OPTIONS = [
  'format',
  'from',
  'max-bytes',
  'resend-seconds',
  'enterprise',
  'ca',
  'cert',
  'key',
  'authorization',
] as const;
type Option = (typeof OPTIONS)[number];
type Options = Partial<Record<Option, string>>;

/** Fault of a destination. The message is a predicate whose subject is the line, such as `must have a URL after its name`. */
class Fault extends Error {}

/**
 * readStreamDestinations parses destinations, one per line: `NAME URL [OPTION=VALUE …]`. The URL is `syslog+tls://HOST[:PORT]` or `https://…`. File paths
 * contain no white space. Returns the valid destinations and the faults of invalid lines.
 */
export function readStreamDestinations(lines: readonly string[]): {
  destinations: StreamDestination[];
  faults: string[];
} {
  const destinations: StreamDestination[] = [];
  const faults: string[] = [];
  for (const [at, line] of lines.entries()) {
    try {
      const destination = readLine(line);
      if (destinations.some(({ name }) => name === destination.name))
        throw new Fault(`reuses the name "${destination.name}"`);
      destinations.push(destination);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      faults.push(`line ${at + 1} ${error.message}`);
    }
  }
  return { destinations, faults };
}

function readLine(line: string): StreamDestination {
  const [name = '', address = '', ...words] = line.split(/\s+/);
  if (!NAME.test(name)) throw new Fault('must start with a name that consists of a-z, 0-9 and -');
  const url = readUrl(address);
  const kind = url.protocol === 'syslog+tls:' ? 'syslog' : 'https';
  const options = readOptions(words);
  const format = oneOf(options, 'format', kind === 'syslog' ? ['json', 'cef'] : ['ocsf', 'json']);
  if ((options.cert === undefined) !== (options.key === undefined))
    throw new Fault('must specify cert and key together');
  if (kind === 'syslog' && options.authorization !== undefined)
    throw new Fault('specifies authorization, which syslog does not support');
  const { ca, cert, key, authorization } = options;
  const files = Object.entries({ ca, cert, key, authorization }).filter(([, path]) => path !== undefined);
  return {
    name,
    kind,
    url,
    format,
    from: oneOf(options, 'from', ['now', 'start']),
    maxBytes: whole(options, 'max-bytes', MIN_BYTES, MAX_BYTES, DEFAULT_BYTES),
    resendSeconds: whole(options, 'resend-seconds', 0, MAX_RESEND_SECONDS, DEFAULT_RESEND_SECONDS),
    enterprise: enterpriseOf(options),
    files: Object.fromEntries(files),
  };
}

/** Parses the URL of a destination. Error messages do not quote the URL, which may contain a password. */
function readUrl(text: string): URL {
  if (!URL.canParse(text)) throw new Fault('must have a URL after its name');
  const url = new URL(text);
  if (!['syslog+tls:', 'https:', 'http:'].includes(url.protocol))
    throw new Fault('must have a URL with the scheme syslog+tls:// or https://');
  if (url.username !== '' || url.password !== '')
    throw new Fault(
      'must not have a user or a password in its URL; put the credential in a file and refer to it with authorization=',
    );
  if (url.protocol !== 'syslog+tls:') return url;
  if (url.hostname === '' || url.pathname.length > 1 || url.search !== '')
    throw new Fault('must have a URL such as syslog+tls://siem.example.com:6514');
  // The URL parser neither normalizes the host nor adds a default port for non-special schemes.
  return new URL(`syslog+tls://${url.hostname.toLowerCase()}:${url.port === '' ? SYSLOG_PORT : url.port}`);
}

function readOptions(words: readonly string[]): Options {
  const options: Options = {};
  for (const word of words) {
    const [, name = '', value = ''] = /^([a-z-]+)=(.+)$/.exec(word) ?? [];
    if (!isOption(name))
      throw new Fault(`has the unknown option "${word.split('=', 1)[0]}"; the options are ${OPTIONS.join(', ')}`);
    if (options[name] !== undefined) throw new Fault(`specifies ${name} more than once`);
    options[name] = value;
  }
  return options;
}

function isOption(name: string): name is Option {
  return OPTIONS.some((option) => option === name);
}

/** Returns the value of an option; the first value is the default. */
function oneOf<Value extends string>(options: Options, name: Option, values: readonly [Value, ...Value[]]): Value {
  const given = options[name];
  if (given === undefined) return values[0];
  const value = values.find((one) => one === given);
  if (value === undefined) throw new Fault(`must set ${name} to ${values.join(' or ')}`);
  return value;
}

function whole(options: Options, name: Option, min: number, max: number, fallback: number): number {
  const value = options[name] === undefined ? fallback : Number(options[name]);
  if (!Number.isInteger(value) || value < min || value > max)
    throw new Fault(`must set ${name} to a number from ${min} to ${max}`);
  return value;
}

function enterpriseOf({ enterprise = DOCUMENTATION_ENTERPRISE }: Options): string {
  if (!/^[1-9]\d{0,9}$/.test(enterprise)) throw new Fault('must set enterprise to a number');
  return enterprise;
}
