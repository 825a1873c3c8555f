import {
  type EventEntry,
  type EventSource,
  type EventType,
  count,
  id,
  moment,
  oneOf,
  optional,
  part,
  picked,
  text,
  texts,
} from './event-type.js';

const IMPORTS = { permission: 'inventory:report', isOwnOnly: true, othersNeed: 'inventory:write' } as const;

/** Inventory events about imports and certificates, which EventAnnouncer records. */
export const INVENTORY_EVENTS = {
  'import.completed': {
    ...IMPORTS,
    description: 'An asynchronous import stored its document.',
    data: {
      importId: id('ID of the import.'),
      source: text('Source of the document.', 'https://git.example.com/shop'),
      received: count('Components in the document.', 120),
      created: count('New assets.', 12),
      updated: count('Changed assets.', 3),
      rejected: count('Components that were not stored.', 0),
    },
  },
  'import.failed': {
    ...IMPORTS,
    description: 'An asynchronous import ended without storing its document.',
    data: {
      importId: id('ID of the import.'),
      code: optional(text('Problem code of the reason; see errors.md.', 'import.rights-ended')),
    },
  },
  'certificate.expiring': {
    permission: 'alerts:read',
    description: 'An alert rule with the condition `certificate-expiring` opened or reopened an alert.',
    data: {
      certificate: part('The certificate.', {
        kind: text('`asset` in the inventory, or `certificate` of a signing key.', 'asset'),
        id: text('ID of the certificate.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12'),
        name: text('Subject of the certificate.', 'CN=www.example.com'),
      }),
      alertId: id('ID of the alert.'),
      rule: text('Name of the alert rule.', 'web certificates'),
      why: optional(text('When the certificate expires, as text.', 'The certificate expires in 13 days.')),
      where: optional(text('Where the certificate was found.', '/etc/ssl/www.pem')),
    },
  },
} satisfies Record<string, EventType>;

const SCAN = {
  scanId: id('ID of the scan.'),
  kind: optional(text('Kind of the scan.', 'tls-network')),
  scope: optional(text('Name of the scan scope.', 'data centre')),
};

function scanAction(action: string): EventSource[] {
  return [
    {
      action: `scan.${action}`,
      opening: 'scan.ordered',
      data: ({ target }, opening) => ({ scanId: target.id, ...picked(opening?.detail ?? {}, 'kind', 'scope') }),
    },
  ];
}

const SCANS = { permission: 'discovery:run', data: SCAN } as const;

/** Events of discovery scans. */
export const SCAN_EVENTS = {
  'scan.completed': { ...SCANS, description: 'A scan was completed.', sources: scanAction('done') },
  'scan.failed': { ...SCANS, description: 'A scan failed.', sources: scanAction('failed') },
  'scan.cancelled': { ...SCANS, description: 'A user cancelled a scan.', sources: scanAction('cancelled') },
} satisfies Record<string, EventType>;

/** Returns the source of a rotation event: the transitions of a whole rotation to these statuses. Entries about single hosts have no `to` of this kind. */
function rotationStatuses(...statuses: string[]): EventSource[] {
  return statuses.map((status) => ({
    action: `ssh-rotation.${status.toLowerCase().replaceAll('_', '-')}`,
    when: ({ detail }: EventEntry) => detail['to'] === status && detail['hostId'] === undefined,
    data: ({ target, detail }: EventEntry) => ({
      rotationId: target.id,
      status,
      ...picked(withoutNulls(detail), 'keyId', 'nextKeyId', 'code'),
    }),
  }));
}

function withoutNulls(detail: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(detail).filter(([, value]) => value !== null));
}

function rotation(description: string, ...statuses: string[]) {
  return {
    permission: 'keys:read',
    description,
    data: {
      rotationId: id('ID of the rotation.'),
      status: oneOf('Status of the rotation.', statuses),
      keyId: optional(id('ID of the SSH key that is replaced.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12')),
      nextKeyId: optional(id('ID of the new SSH key.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d13')),
      code: optional(text('Problem code of the reason; see errors.md.', 'rotation.too-many-failures')),
    },
    sources: rotationStatuses(...statuses),
  } as const;
}

/** Events of SSH key rotations. */
export const ROTATION_EVENTS = {
  'rotation.completed': rotation('A rotation replaced the key on all hosts.', 'DONE'),
  'rotation.waiting': rotation(
    'A rotation is waiting for an approval or for the holder of the new key.',
    'PENDING_APPROVAL',
    'AWAITING_HOLDER',
  ),
  'rotation.halted': rotation('A rotation was halted. A user must decide how to continue.', 'HALTED'),
  'rotation.failed': rotation(
    'A rotation ended without replacing the key on all hosts.',
    'PARTIAL',
    'ROLLED_BACK',
    'CRITICAL',
  ),
  'rotation.cancelled': rotation('A rotation was cancelled.', 'CANCELLED'),
} satisfies Record<string, EventType>;

const SENSORS = { permission: 'sensors:read' } as const;
const SENSOR = { sensorId: id('ID of the sensor.'), name: text('Name of the sensor.', 'build host 7') };

/** Sensor events, which EventAnnouncer records. */
export const SENSOR_EVENTS = {
  'sensor.connected': {
    ...SENSORS,
    description: 'A sensor sent its first heartbeat, or its first heartbeat after a silence.',
    data: SENSOR,
  },
  'sensor.silent': {
    ...SENSORS,
    description: 'A sensor missed its heartbeat.',
    data: { ...SENSOR, lastHeartbeatAt: moment('Time of the last heartbeat.') },
  },
} satisfies Record<string, EventType>;

const SIGN_IN = {
  way: optional(text('How the person signed in, such as `password` or `oidc`.', 'password')),
  address: text('IP address of the client.', '192.0.2.17'),
};

/** Events of sign-ins. */
export const SIGN_IN_EVENTS = {
  'sign-in.succeeded': {
    permission: 'audit:read',
    description: 'A person signed in.',
    data: {
      user: part('The person.', {
        id: text('ID of the user.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d13'),
        name: text('Name of the user.', 'ann@corp.example'),
      }),
      ...SIGN_IN,
      methods: optional(texts('Authentication methods (RFC 8176).', ['pwd', 'otp'])),
    },
    sources: [
      {
        action: 'auth.signed-in',
        data: ({ actor, source, detail }) => ({
          user: { id: actor.id, name: actor.name },
          ...picked(detail, 'way', 'methods'),
          address: source,
        }),
      },
    ],
  },
  'sign-in.failed': {
    permission: 'audit:read',
    description: 'A sign-in failed. During a flood of failures, only some are reported individually.',
    data: { account: optional(text('Account that was entered.', 'ann@corp.example')), ...SIGN_IN },
    sources: [
      {
        action: 'auth.sign-in-failed',
        data: ({ source, detail }) => ({ ...picked(detail, 'account', 'way'), address: source }),
      },
    ],
  },
} satisfies Record<string, EventType>;

/** Host events, which EventAnnouncer records. */
export const HOST_EVENTS = {
  'hosts.key-changed': {
    permission: 'hosts:read',
    needsNoOwner: true,
    isShownInLog: true,
    description: 'A host presented a key other than its trusted host key. The service did not log in.',
    data: {
      host: part('The host.', {
        id: id('ID of the host.'),
        name: text('Name of the host.', 'web-1'),
        address: text('Address of the host.', '10.0.0.7'),
        port: count('SSH port.', 22),
      }),
      presented: part('The key that the host presented.', {
        fingerprint: text('SHA-256 fingerprint.', 'SHA256:uNiVztksCsDhcc0u9e8BrrJXVGDg5S2f0pVBTjTcXr4'),
        type: text('Key type.', 'ssh-ed25519'),
      }),
      expected: texts('Fingerprints of the trusted keys.', ['SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU']),
    },
  },
} satisfies Record<string, EventType>;
