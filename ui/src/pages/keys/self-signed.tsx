import { useNavigate } from '@tanstack/react-router';
import { createSelfSignedCertificate } from '../../api/generated/sdk.gen.js';
import type { SelfSignedCertificateBody, SigningKeyView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { useToast } from '../../patterns/toasts.js';
import { useAction } from '../../patterns/use-action.js';

const PURPOSES: readonly SigningKeyView['purpose'][] = [
  'signing',
  'code-signing',
  'documents',
  'tls-client',
  'ssh-login',
];

/** canSignItself reports whether a self-signed certificate can be created for a key. A key with a certificate does not need one. */
export const canSignItself = ({ purpose, type, certificateId }: SigningKeyView): boolean =>
  certificateId === undefined && PURPOSES.includes(purpose) && !type.startsWith('ml-dsa');

const CHANGES = ['getSigningKey', 'listSigningKey', 'listCertificates'];

/** SelfSigned has a key sign its own certificate. If approval is required, it opens the request, on whose page the certificate can be stored later. */
export function SelfSigned({ signingKey: { id, name, notAfter }, onClose }: SelfSignedProps) {
  const { t } = useI18n();
  const navigate = useNavigate();
  const notify = useToast();
  const action = useAction(
    ({ until, ...subject }: Values) =>
      createSelfSignedCertificate({
        path: { id },
        body: { subject, ...(until === undefined ? {} : { notAfter: until }) } as never,
      }),
    {
      changes: CHANGES,
      onDone: ({ certificate, requestId }) => {
        notify(t(certificate === undefined ? 'key.selfSigned.requested' : 'key.selfSigned.done'));
        if (certificate === undefined) void navigate({ to: `/requests/${requestId}` } as never);
      },
    },
  );
  return (
    <FormDialog
      title={t('key.selfSigned')}
      lead={t('key.selfSigned.lead')}
      submit={t('create')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'commonName', label: t('key.commonName'), isRequired: true, value: name },
        { name: 'organization', label: t('key.organization') },
        { name: 'country', label: t('key.country') },
        {
          name: 'until',
          kind: 'day',
          label: t('certificates.ends'),
          hint: t(notAfter === undefined ? 'key.selfSigned.endless' : 'key.selfSigned.end'),
        },
      ]}
    />
  );
}

interface SelfSignedProps {
  readonly signingKey: SigningKeyView;
  readonly onClose: () => void;
}

/** selfSignedBodyOf returns the request body that created the signing request of a self-signed certificate, or undefined for other requests. */
export function selfSignedBodyOf(metadata: unknown): SelfSignedCertificateBody | undefined {
  const { purpose, subject, notAfter } = (metadata ?? {}) as Record<string, unknown>;
  if (purpose !== 'self-signed certificate' || typeof subject !== 'object' || subject === null) return undefined;
  return { subject, ...(typeof notAfter === 'string' ? { notAfter } : {}) } as SelfSignedCertificateBody;
}

/** useStoreCertificate stores a signed request's certificate. It repeats the original call, which finds the existing signature. */
export function useStoreCertificate(keyId: string) {
  const { t } = useI18n();
  return useAction((body: SelfSignedCertificateBody) => createSelfSignedCertificate({ path: { id: keyId }, body }), {
    changes: CHANGES,
    done: t('key.selfSigned.done'),
  });
}
