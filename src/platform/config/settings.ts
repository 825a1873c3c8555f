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
    'dev: allows CORS for the local console and serves the API description. prod: same origin only, no development secrets',
  ),
  SVC_ROLE: setting(
    'all',
    'all, api (serves HTTP) or worker (background work). Any number of processes can share the database',
  ),
  SVC_HOST: setting(
    '',
    'Address on which the API server listens. Defaults to 127.0.0.1 in the profile dev, where anyone can register, and to 0.0.0.0 in prod',
  ),
  SVC_PORT: setting('9090', 'Port of the API server; 0 selects a free port'),
  SVC_MANAGEMENT_PORT: setting(
    '',
    'Port for health and metrics, in every role and without authentication; 0 selects a free port. If empty, the port is not opened',
  ),
  SVC_MANAGEMENT_HOST: setting('', 'Address for SVC_MANAGEMENT_PORT. Defaults to SVC_HOST'),
  SVC_PUBLIC_URL: setting('', 'URL that clients use. Defaults to http://localhost:SVC_PORT'),
  SVC_ALLOWED_HOSTS: setting(
    '',
    'Additional host names of the service, comma-separated. The host of SVC_PUBLIC_URL and the names of this machine are always accepted; *.example.com matches every subdomain',
  ),
  SVC_CORS_ORIGINS: setting(
    'http://localhost:4200,http://localhost:9090',
    'Allowed CORS origins, comma-separated; profile dev only',
  ),
  SVC_TRUST_PROXY: setting(
    '',
    'Addresses of reverse proxies whose X-Forwarded-For is trusted, comma-separated. A CIDR block trusts every address in the block, so list individual proxies where possible',
  ),
  SVC_CLIENT_CERT_HEADER: setting(
    '',
    'Header in which the proxies of SVC_TRUST_PROXY pass the TLS client certificate, such as Client-Cert (RFC 9440). The proxies must overwrite the header if a client sends the header. If empty, client certificates are ignored',
  ),
  SVC_CLIENT_CERT_CHAIN_HEADER: setting(
    '',
    'Header in which these proxies pass the CA certificates that the client sent, such as Client-Cert-Chain (RFC 9440). The proxies must overwrite this header as well. If empty, intermediate certificates must be uploaded with the client (docs/access.md)',
  ),
  SVC_DRAIN_SECONDS: setting(
    '',
    'Time for which a stopping process reports that it is not ready but still serves requests, so that load balancers can react; at most half of SVC_STOP_SECONDS. Defaults to 5 in prod and 0 in dev',
  ),
  SVC_STOP_SECONDS: setting(
    '20',
    'Time within which a stopping process exits. Must be shorter than the time after which the supervisor kills the process',
  ),
  SVC_LOG_LEVEL: setting('log', 'debug, log, warn or error'),
  SVC_JWT_SECRET: setting(
    'sealwright-development-secret-change-me',
    'Secret from which keys for tokens, cookies and seals are derived; at least 32 characters. The default is rejected in prod',
  ),
  SVC_JWT_SECRET_PREVIOUS: setting(
    '',
    'Previous or upcoming values of SVC_JWT_SECRET, one per line. They are accepted for decryption and verification only (docs/operations.md)',
  ),
  SVC_JWT_EXPIRATION_HOURS: setting('24', 'Lifetime of an access token issued at sign-in'),
  SVC_BROWSER_IDLE_MINUTES: setting('30', 'Time without requests after which a browser session ends'),
  SVC_BROWSER_SESSION_HOURS: setting('12', 'Maximum lifetime of a browser session'),
  SVC_ADMIN_EMAIL: setting(
    '',
    'Email address of the first administrator, who is created at startup if there are no users',
  ),
  SVC_ADMIN_PASSWORD: setting('', 'Password of the first administrator; at least 12 characters'),
  SVC_RATE_LIMIT_PER_MINUTE: setting('300000', 'Maximum requests per minute and API key, user or client'),
  SVC_APPROVALS_OPEN_PER_CALLER: setting(
    '100',
    'Maximum pending approvals per API key, user, client or workload trust. A batch counts as one approval',
  ),
  SVC_SMTP_HOST: setting('smtp.gmail.com', 'SMTP server for outgoing email'),
  SVC_SMTP_PORT: setting('587', 'SMTP port; 465 uses implicit TLS, other ports STARTTLS'),
  SVC_SMTP_USERNAME: setting('', 'SMTP user; empty for a server without authentication'),
  SVC_SMTP_PASSWORD: setting('', 'Password of the SMTP user'),
  SVC_SMTP_TLS: setting('required', 'required; or never, for a relay on this machine'),
  SVC_MAIL_FROM: setting('Sealwright <sealwright@localhost>', 'Sender address of emails'),
  SVC_ALERT_EMAIL_ENABLED: setting('false', 'Whether alerts are sent by email: true or false'),
  SVC_ALERT_EMAIL_TO: setting('', 'Recipients of alerts whose rule specifies no recipients, comma-separated'),
  SVC_OUTBOUND_ALLOW: setting(
    '',
    'Non-public IP addresses and CIDR blocks, comma-separated, that webhooks, OpenID Connect providers and receivers of the audit log may use, also over plain HTTP',
  ),
  SVC_AUDIT_STREAMS: setting(
    '',
    'Receivers of the audit log, one per line: NAME URL [OPTION=VALUE …], for example: siem syslog+tls://siem.example.com:6514 format=cef (docs/siem.md)',
  ),
  SVC_LOG_WITNESS: setting(
    '',
    'File on another machine, or https:// URL, that receives the newest checkpoint of the audit log every minute, so that auditors can verify a restore after a total loss (docs/restore.md)',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    '',
    'Trace collector for OTLP over HTTP, such as http://localhost:4318. If empty, tracing is disabled (docs/operations.md)',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting('', 'Headers for the collector, as comma-separated name=value pairs'),
  OTEL_SERVICE_NAME: setting('sealwright', 'Name of the service in traces'),
  OTEL_RESOURCE_ATTRIBUTES: setting(
    '',
    'Attributes of every span, comma-separated, for example deployment.environment.name=prod',
  ),
  OTEL_TRACES_SAMPLER: setting(
    'parentbased_traceidratio',
    'Sampler: always_on, always_off, traceidratio, or one of these with the prefix parentbased_, which follows the traceparent of the caller',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting('0.1', 'Fraction of requests sampled by traceidratio, from 0 to 1'),
  SVC_DATABASE_URL: setting(
    'postgresql://sealwright@127.0.0.1:5432/sealwright',
    'URL of a PostgreSQL database, version 15 or later. Several comma-separated hosts are tried until one accepts writes; sslmode=verify-full enables TLS',
  ),
  SVC_DATABASE_PASSWORD: setting('', 'Password of the database user; overrides the password in SVC_DATABASE_URL'),
  SVC_DATABASE_CA_FILE: setting(
    '',
    'PEM file with the CA certificates for the database. If set, every connection is encrypted and verified',
  ),
  SVC_DATABASE_TLS: setting(
    'required',
    'required; or off, for a trusted network. With required, prod rejects a database on another machine without TLS',
  ),
  SVC_DATABASE_READ_URL: setting(
    '',
    'URL of database standbys, in the format of SVC_DATABASE_URL. Exports, asset lists and analytics are read from the standbys if the lag is small enough (docs/scaling.md)',
  ),
  SVC_DATABASE_READ_MAX_AGE_SECONDS: setting('10', 'Maximum lag of a standby used for reads'),
  SVC_DATABASE_POOL: setting(
    '12',
    'PostgreSQL connections per process. An api process opens up to 12 more for exports and one for imports',
  ),
  SVC_DATABASE_REPLICATION: setting(
    'any',
    'Handling of asynchronous replication, with which a failover can lose acknowledged writes. any: logs the state; warn: also reports DEGRADED health; required: also refuses to start',
  ),
  SVC_INGEST_STALL_SECONDS: setting(
    '30',
    'Maximum uninterrupted parsing time of an imported document, plus one second per MB. Slower documents are rejected',
  ),
  SVC_REPORTER_MAX_ASSETS: setting(
    '2000000',
    'Maximum assets in all sources of an API key, client, sensor or user without the inventory:write scope. Further documents are rejected with 422',
  ),
  SVC_DERIVATION_ROUNDS_PER_MINUTE: setting(
    '30000000',
    'Maximum password hashing rounds per minute for the key stores of an API key, user or client. Further key stores are rejected with 429',
  ),
  SVC_KEEP_DOCUMENTS_DAYS: setting(
    '0',
    'Days after which an inventory document is deleted once its source has reported a newer document; 0 keeps documents forever. CycloneDX documents with a serial number are always kept, because other documents can link to them',
  ),
  SVC_KEEP_SCAN_RESULTS_DAYS: setting(
    '0',
    'Days after which results of network scans are deleted; 0 keeps the results forever',
  ),
  SVC_KEEP_ALERTS_DAYS: setting('0', 'Days after which resolved alerts are deleted; 0 keeps alerts forever'),
  SVC_REDIS_URL: setting(
    'redis://127.0.0.1:6379',
    'URL of a Redis server, version 6.2 or later, with maxmemory-policy noeviction. rediss:// for TLS, redis+sentinel://HOST1,HOST2/MASTER for Sentinel',
  ),
  SVC_REDIS_CA_FILE: setting('', 'PEM file with the CA certificates for Redis and its sentinels'),
  SVC_REDIS_PREFIX: setting('sealwright', 'Prefix of all Redis keys'),
  SVC_PKCS11_LIBRARY: setting('/usr/lib/softhsm/libsofthsm2.so', 'Path of the PKCS #11 library of the HSM'),
  SVC_PKCS11_TOKEN_LABEL: setting('sealwright', 'Label of the HSM token'),
  SVC_PKCS11_PIN_FILE: setting('/run/secrets/pkcs11-pin', 'File that contains the user PIN of the token'),
  SVC_PKCS11_SESSIONS: setting('4', 'HSM sessions per process; must not exceed the limit of the HSM'),
  SVC_PKCS11_DEADLINE_MS: setting('5000', 'Time limit for an HSM operation, after which the key process is restarted'),
  SVC_DEFAULT_KEY: setting('default', 'Signing key for requests that do not specify a key'),
  SVC_TSA_KEY: setting(
    'tsa',
    'Signing key of the timestamp authority. The key must have the "timestamping" purpose and a certificate',
  ),
  SVC_TSA_POLICY: setting(
    '2.25.147707749704932427504177978547516550719',
    'Object identifier of the timestamp policy. Replace the default with your own',
  ),
  SVC_TSA_AUTHORITIES: setting(
    'own',
    'Timestamp authorities for signatures, comma-separated and in order of preference: own, or an HTTP(S) URL',
  ),
  SVC_TSA_TRUST_FILE: setting('', 'PEM file with the root certificates of external timestamp authorities'),
  SVC_TSA_TIMEOUT_MS: setting('5000', 'Time limit for a response of an external timestamp authority'),
  SVC_TSA_ACCURACY_SECONDS: setting(
    '2',
    'Accuracy stated in timestamps. The maximum clock error is one second less than this value',
  ),
  SVC_TSA_NTP_SERVERS: setting(
    '',
    'NTP servers (host or host:port, comma-separated) with which the clock must agree. If empty, the clock is compared only with the database clock',
  ),
  SVC_TSA_ALLOW: setting(
    '',
    'IP addresses and CIDR blocks, comma-separated, that can request timestamps at /tsa without a credential',
  ),
  SVC_TSA_OPEN_PER_MINUTE: setting(
    '600',
    'Maximum timestamps per minute for each address in SVC_TSA_ALLOW, and for each key in the path',
  ),
  SVC_TRANSIT_MOUNTS: setting(
    'transit',
    'Mount paths of the Vault transit engine below /v1/, comma-separated, in addition to transit',
  ),
  SVC_SSH_KEY_MAX_AGE_DAYS: setting('365', 'Age at which an SSH key is reported as old'),
  SVC_SSH_ROTATION_LEASE_SECONDS: setting(
    '20',
    'Time after which another worker takes over a rotation step whose worker no longer responds',
  ),
  SVC_SSH_ROTATION_CONCURRENCY: setting('10', 'Maximum hosts on which a worker process rotates keys concurrently'),
  SVC_SIGNING_MAX_AGE_HOURS: setting('24', 'Time after which a request that could not be signed fails'),
  SVC_DNS_SERVERS: setting(
    '',
    'DNS servers (address or address:port, comma-separated) for names of hosts and scan targets. Defaults to the name servers of the system',
  ),
  SVC_ALLOW_LOOPBACK: setting('no', 'yes allows hosts and scans on 127.0.0.0/8 and ::1, for trials. Rejected in prod'),
  SVC_CLOCK_SPEED: setting(
    '1',
    'Factor by which background jobs run more often, for tests. Leases and due times are unaffected. Must be 1 in prod',
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
    '# All settings with their defaults. To change a setting, remove the # and edit the value. Generated by `npm run env-example`.',
    '# Every setting can also be set as NAME_FILE, the path of a file that contains the value.',
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
