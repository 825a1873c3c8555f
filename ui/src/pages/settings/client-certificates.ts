import type { ClientCertificatesBody, OAuthClientView } from '../../api/generated/types.gen.js';
import type { useI18n } from '../../i18n/i18n.js';
import { type Field, textOf, type Values } from '../../patterns/form-fields.js';

type I18n = ReturnType<typeof useI18n>;

/** Authentication methods of confidential clients. Keys (`private_key_jwt`) can be registered only through the API. */
const METHODS = ['client_secret_basic', 'self_signed_tls_client_auth', 'tls_client_auth'] as const;
/** RFC 8705, section 2.1.2. */
const SUBJECTS = ['subject_dn', 'san_dns', 'san_uri', 'san_ip', 'san_email'] as const;
const PEM = '-----BEGIN CERTIFICATE-----';

export function isByCertificate({ token_endpoint_auth_method: method }: OAuthClientView): boolean {
  return method === 'self_signed_tls_client_auth' || method === 'tls_client_auth';
}

/** methodField returns the authentication method of a new confidential client. */
export function methodField({ t, named }: I18n): Field {
  return {
    name: 'method',
    kind: 'choice',
    label: t('clients.method'),
    isRequired: true,
    hint: t('clients.method.hint'),
    options: METHODS.map((value) => ({ value, label: named('clientMethod', value) })),
    when: ({ type }) => type === 'confidential',
  };
}

/** certificateFields returns the fields for clients that authenticate by certificate, depending on the selected method. */
export function certificateFields({ t, named }: I18n, methodOf: (values: Values) => unknown): Field[] {
  const isOwn = (values: Values) => methodOf(values) === 'self_signed_tls_client_auth';
  const isIssued = (values: Values) => methodOf(values) === 'tls_client_auth';
  const pem = { kind: 'area', placeholder: PEM } as const;
  return [
    {
      ...pem,
      name: 'certificates',
      label: t('clients.certificates'),
      isRequired: true,
      hint: t('clients.certificates.hint'),
      when: isOwn,
    },
    {
      ...pem,
      name: 'trustAnchors',
      label: t('clients.anchors'),
      isRequired: true,
      hint: t('clients.anchors.hint'),
      when: isIssued,
    },
    {
      ...pem,
      name: 'intermediates',
      label: t('clients.intermediates'),
      hint: t('clients.intermediates.hint'),
      when: isIssued,
    },
    {
      name: 'subjectKind',
      kind: 'choice',
      label: t('clients.subjectKind'),
      isRequired: true,
      options: SUBJECTS.map((value) => ({ value, label: named('clientSubject', value) })),
      when: isIssued,
    },
    { name: 'subject', label: t('clients.subject'), isRequired: true, hint: t('clients.subject.hint'), when: isIssued },
  ];
}

/** certificateMembers returns the request members for the fields above. Hidden fields are omitted. */
export function certificateMembers(values: Values): ClientCertificatesBody {
  const { subjectKind, subject } = values;
  const lists = (['certificates', 'trustAnchors', 'intermediates'] as const)
    .filter((name) => values[name] !== undefined)
    .map((name) => [name, [textOf(values[name])]]);
  const named = subject === undefined ? [] : [[`tls_client_auth_${textOf(subjectKind)}`, subject]];
  return Object.fromEntries([...lists, ...named]) as ClientCertificatesBody;
}
