interface Setting {
  /** Value if the variable is missing or empty. */
  readonly default: string;
  readonly meaning: string;
}

const setting = (fallback: string, meaning: string): Setting => ({ default: fallback, meaning });

/** SETTINGS defines the name, default and meaning of every setting. `.env.example` is generated from this table (`npm run env-example`). */
export const SETTINGS = {
  SVC_PROFILE: setting(
    'dev',
    'dev: open CORS for the local console, API descriptions. prod: same origin only, no development secrets',
  ),
  SVC_ROLE: setting('all', 'all, api (answers HTTP) or worker (background work); any number of each share the stores'),
  SVC_HOST: setting(
    '',
    'Address the API server listens on; if empty 127.0.0.1 in the profile dev, where anyone can register, and 0.0.0.0 in prod',
  ),
  SVC_PORT: setting('9090', 'API server port; 0 takes a free one'),
  SVC_MANAGEMENT_PORT: setting(
    '',
    'Port for health and metrics, in every role; it needs no credential. If empty it is not opened; 0 selects a free one',
  ),
  SVC_MANAGEMENT_HOST: setting('', 'Address of that port; when empty that of SVC_HOST'),
  SVC_PUBLIC_URL: setting('', 'Address that clients use, if it differs from http://localhost:SVC_PORT'),
  SVC_ALLOWED_HOSTS: setting(
    '',
    'Further host names of the service, comma-separated, besides that of SVC_PUBLIC_URL and those of this machine; *.example.com stands for every name below it',
  ),
  SVC_CORS_ORIGINS: setting(
    'http://localhost:4200,http://localhost:9090',
    'Allowed origins, comma-separated; dev only',
  ),
  SVC_TRUST_PROXY: setting(
    '',
    'Addresses of reverse proxies whose X-Forwarded-For is trusted, comma-separated. A CIDR block trusts every address in it: list proxies one by one where you can',
  ),
  SVC_CLIENT_CERT_HEADER: setting(
    '',
    'Header in which these proxies pass the client certificate of the TLS connection, such as Client-Cert (RFC 9440); they must overwrite the header if a client sends it. If empty certificates are ignored',
  ),
  SVC_CLIENT_CERT_CHAIN_HEADER: setting(
    '',
    'Header in which these proxies pass the certificates of authorities that the client sent with its own, such as Client-Cert-Chain (RFC 9440); they must overwrite it as well. If empty intermediate certificates are uploaded with the client (docs/access.md)',
  ),
  SVC_DRAIN_SECONDS: setting(
    '',
    'A process that is told to stop becomes unready at once and continues to answer for this time, so that load balancers notice; at most half of SVC_STOP_SECONDS; if empty 5 in prod and 0 in dev',
  ),
  SVC_STOP_SECONDS: setting(
    '20',
    'A process that is told to stop ends within this time; less than its supervisor waits before it kills the process',
  ),
  SVC_LOG_LEVEL: setting('log', 'debug, log, warn or error'),
  SVC_JWT_SECRET: setting(
    'sealwright-development-secret-change-me',
    'Signs access tokens; at least 32 characters; prod refuses the default',
  ),
  SVC_JWT_SECRET_PREVIOUS: setting(
    '',
    'Secrets, one per line, that SVC_JWT_SECRET has replaced or will replace: they still decrypt and verify (docs/operations.md)',
  ),
  SVC_JWT_EXPIRATION_HOURS: setting('24', 'Life of an access token from sign-in'),
  SVC_BROWSER_IDLE_MINUTES: setting('30', 'A browser session ends after this time without a call'),
  SVC_BROWSER_SESSION_HOURS: setting('12', 'A browser session ends after this time, even if it is used'),
  SVC_ADMIN_EMAIL: setting('', 'First administrator, created at start when no user exists'),
  SVC_ADMIN_PASSWORD: setting('', 'Password of the first administrator; at least 12 characters'),
  SVC_RATE_LIMIT_PER_MINUTE: setting('300000', 'Calls per minute of one API key, user or client'),
  SVC_APPROVALS_OPEN_PER_CALLER: setting(
    '100',
    'Pending approvals of one API key, user, client or workload trust; more are refused. A batch is one approval',
  ),
  SVC_SMTP_HOST: setting('smtp.gmail.com', 'SMTP server for mails'),
  SVC_SMTP_PORT: setting('587', 'SMTP port; 465 is TLS from the first byte, others STARTTLS'),
  SVC_SMTP_USERNAME: setting('', 'SMTP user; empty if the server needs none'),
  SVC_SMTP_PASSWORD: setting('', 'Password of the SMTP user'),
  SVC_SMTP_TLS: setting('required', 'required, or never for a relay on this machine'),
  SVC_MAIL_FROM: setting('Sealwright <sealwright@localhost>', 'Sender of mails'),
  SVC_ALERT_EMAIL_ENABLED: setting('false', 'true: alerts are mailed'),
  SVC_ALERT_EMAIL_TO: setting('', 'Recipients of mails of alerts whose rule names none, comma-separated'),
  SVC_OUTBOUND_ALLOW: setting(
    '',
    'Addresses and blocks, comma-separated, that webhooks, OpenID Connect providers and receivers of the audit log can have although they are not public, and over plain HTTP',
  ),
  SVC_AUDIT_STREAMS: setting(
    '',
    'Receivers of the audit log, one per line: NAME URL [OPTION=VALUE …], as in: siem syslog+tls://siem.example.com:6514 format=cef (docs/siem.md)',
  ),
  SVC_LOG_WITNESS: setting(
    '',
    'File on another machine, or https:// address, that receives the newest checkpoint of the audit log once a minute, so that auditors can follow a restore after a total loss (docs/restore.md)',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    '',
    'Collector of traces by OTLP over HTTP, such as http://localhost:4318; if empty nothing is traced (docs/operations.md)',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting('', 'Headers for the collector: name=value, comma-separated'),
  OTEL_SERVICE_NAME: setting('sealwright', 'Name of the service in traces'),
  OTEL_RESOURCE_ATTRIBUTES: setting(
    '',
    'Attributes of every span, as in deployment.environment.name=prod, comma-separated',
  ),
  OTEL_TRACES_SAMPLER: setting(
    'parentbased_traceidratio',
    'Sampler: always_on, always_off, traceidratio, or one of them after parentbased_, which follows the traceparent of the caller',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting('0.1', 'Share of calls that a traceidratio sampler selects, 0 to 1'),
  SVC_DATABASE_URL: setting(
    'postgresql://sealwright@127.0.0.1:5432/sealwright',
    'PostgreSQL 15 or later; several hosts, comma-separated, are tried in turn for one that accepts writes; sslmode=verify-full encrypts',
  ),
  SVC_DATABASE_PASSWORD: setting('', 'Password of the database user, instead of the one in SVC_DATABASE_URL'),
  SVC_DATABASE_CA_FILE: setting(
    '',
    'PEM file with the authorities that certify the database; with it every connection is encrypted and verified',
  ),
  SVC_DATABASE_TLS: setting(
    'required',
    'required, or off for a network that is trusted: prod refuses a database on another machine without TLS otherwise',
  ),
  SVC_DATABASE_READ_URL: setting(
    '',
    'Standbys of the database, as in SVC_DATABASE_URL: exports, lists of assets and analytics are read from them while they are not too far behind (docs/scaling.md)',
  ),
  SVC_DATABASE_READ_MAX_AGE_SECONDS: setting('10', 'Maximum lag of a standby that is read'),
  SVC_DATABASE_POOL: setting(
    '12',
    'Connections to PostgreSQL per process; an api process opens up to 12 more for exports, and one for imports',
  ),
  SVC_DATABASE_REPLICATION: setting(
    'any',
    'Whether a failover of the database can lose acknowledged writes. any: logged; warn: health is DEGRADED while commits do not wait for a standby; required: a process does not start either',
  ),
  SVC_INGEST_STALL_SECONDS: setting(
    '30',
    'A document that occupies its reader without a pause for this long is refused; each MB of it adds one second',
  ),
  SVC_REPORTER_MAX_ASSETS: setting(
    '2000000',
    'Assets that all sources of one API key, client, sensor or user without the scope inventory:write can report; further documents are refused with 422',
  ),
  SVC_DERIVATION_ROUNDS_PER_MINUTE: setting(
    '30000000',
    'Rounds of password hashing that the key stores of one API key, user or client can cost in a minute; further key stores are refused with 429',
  ),
  SVC_KEEP_DOCUMENTS_DAYS: setting(
    '0',
    'Days for which the record of a document of the inventory is kept after a newer one of its source arrived; 0 for ever. CycloneDX documents with a serial number are kept, since others can link to them',
  ),
  SVC_KEEP_SCAN_RESULTS_DAYS: setting('0', 'Days for which results of network scans are kept; 0 for ever'),
  SVC_KEEP_ALERTS_DAYS: setting('0', 'Days for which alerts are kept after they were resolved; 0 for ever'),
  SVC_REDIS_URL: setting(
    'redis://127.0.0.1:6379',
    'Redis 6.2 or later with maxmemory-policy noeviction; rediss:// for TLS, redis+sentinel://HOST1,HOST2/MASTER for Sentinel',
  ),
  SVC_REDIS_CA_FILE: setting('', 'PEM file with the authorities that certify Redis and its sentinels'),
  SVC_REDIS_PREFIX: setting('sealwright', 'First part of every Redis key'),
  SVC_PKCS11_LIBRARY: setting('/usr/lib/softhsm/libsofthsm2.so', 'The PKCS#11 module of the HSM'),
  SVC_PKCS11_TOKEN_LABEL: setting('sealwright', 'The token, found by its label (slot numbers change)'),
  SVC_PKCS11_PIN_FILE: setting('/run/secrets/pkcs11-pin', 'File that holds the user PIN of the token'),
  SVC_PKCS11_SESSIONS: setting('4', 'Sessions per process; at most the limit of the HSM'),
  SVC_PKCS11_DEADLINE_MS: setting('5000', 'Time limit of one HSM call, after which the key process is replaced'),
  SVC_DEFAULT_KEY: setting('default', 'Signing key for requests that name none'),
  SVC_TSA_KEY: setting(
    'tsa',
    'Signing key of the timestamp authority, of the purpose timestamping and with a certificate',
  ),
  SVC_TSA_POLICY: setting(
    '2.25.147707749704932427504177978547516550719',
    'Object identifier of the policy under which timestamps are issued; use one of your own',
  ),
  SVC_TSA_AUTHORITIES: setting(
    'own',
    'Timestamp authorities for signatures, in the order in which they are called, comma-separated: own, or an http(s) address',
  ),
  SVC_TSA_TRUST_FILE: setting('', 'PEM file with the root certificates of external timestamp authorities'),
  SVC_TSA_TIMEOUT_MS: setting('5000', 'Time limit of an external timestamp authority'),
  SVC_TSA_ACCURACY_SECONDS: setting('2', 'Accuracy that timestamps state; the clock can be off by one second less'),
  SVC_TSA_NTP_SERVERS: setting(
    '',
    'Time servers (host or host:port, comma-separated) that the clock must agree with; if empty only the database is compared',
  ),
  SVC_TSA_ALLOW: setting(
    '',
    'Addresses or blocks like 192.0.2.0/24, comma-separated, that get timestamps at /tsa without a credential',
  ),
  SVC_TSA_OPEN_PER_MINUTE: setting(
    '600',
    'Timestamps per minute for one address of SVC_TSA_ALLOW, and for one key in the path',
  ),
  SVC_TRANSIT_MOUNTS: setting(
    'transit',
    'Names under /v1/ at which clients of HashiCorp Vault find its transit engine, comma-separated, in addition to transit',
  ),
  SVC_SSH_KEY_MAX_AGE_DAYS: setting('365', 'Age at which an SSH key counts as old'),
  SVC_SSH_ROTATION_LEASE_SECONDS: setting(
    '20',
    'Time without a sign of life after which another worker takes over a rotation step',
  ),
  SVC_SSH_ROTATION_CONCURRENCY: setting('10', 'Hosts on which one worker process rotates keys at the same time'),
  SVC_SIGNING_MAX_AGE_HOURS: setting('24', 'Time after which a request that could not be signed ends as FAILED'),
  SVC_DNS_SERVERS: setting(
    '',
    'Name servers (address or address:port, comma-separated) for the names of hosts and scan targets; if empty those of the system',
  ),
  SVC_ALLOW_LOOPBACK: setting(
    'no',
    'yes allows hosts and scans on 127.0.0.0/8 and ::1, to try things out; prod refuses it',
  ),
  SVC_CLOCK_SPEED: setting(
    '1',
    'Factor by which background jobs run more often, for tests; leases and due times keep their length; prod refuses any value but 1',
  ),
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

/** SECRET_SETTINGS lists settings whose value is a secret. The password in a URL is handled separately. */
export const SECRET_SETTINGS: ReadonlySet<SettingName> = new Set<SettingName>([
  'SVC_JWT_SECRET',
  'SVC_JWT_SECRET_PREVIOUS',
  'SVC_ADMIN_PASSWORD',
  'SVC_SMTP_PASSWORD',
  'SVC_DATABASE_PASSWORD',
]);

/** envExample returns the content of `.env.example`. */
export function envExample(): string {
  const lines = Object.entries(SETTINGS).flatMap(([name, { default: value, meaning }]) => [
    '',
    `# ${meaning}`,
    `#${name}=${value}`,
  ]);
  return [
    '# Every setting with its default. Remove the # where your value differs. Generated by `npm run env-example`.',
    '# Each setting can also be given as NAME_FILE, the path of a file that contains the value.',
    ...lines,
    '',
  ].join('\n');
}

/** First path segments below /v1/ that the service itself uses. */
const OWN_PATHS = new Set([
  'auth',
  'host-authorities',
  'hosts',
  'keys',
  'rotation-policies',
  'rotations',
  'scan-scopes',
  'scans',
  'ssh-ca',
  'sys',
]);

/**
 * isMountPath returns true if Vault's transit may be mounted at this path below /v1/, such as `transit` or `team/transit`. Paths that the service uses are
 * rejected.
 */
export function isMountPath(path: string): boolean {
  return /^\w[\w.-]*(?:\/\w[\w.-]*)*$/.test(path) && !OWN_PATHS.has(path.split('/', 1)[0] ?? '');
}
