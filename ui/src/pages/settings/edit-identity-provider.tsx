import { ifMatch } from '../../api/client.js';
import {
  changeOidcProvider,
  changeSamlProvider,
  putOidcProvider,
  putSamlProvider,
  removeIdentityProvider,
} from '../../api/generated/sdk.gen.js';
import type { IdentityProviderView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Copyable } from '../../patterns/copyable.js';
import { Facts } from '../../patterns/facts.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { changedValues, textOf, type Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';
import { providerBody, type ProviderKind, useProviderFields } from './identity-provider-fields.js';

const CHANGES = { changes: ['listIdentityProviders'] };

interface EditProviderProps {
  readonly kind: ProviderKind;
  readonly of?: IdentityProviderView;
  readonly onClose: () => void;
}

/** EditProvider creates or edits an identity provider. For an existing provider, only changed values are sent. */
export function EditProvider({ kind, of, onClose }: EditProviderProps) {
  const { t } = useI18n();
  const fields = useProviderFields(kind, of);
  const action = useAction(
    async (values: Values): Promise<{ data: unknown }> => {
      if (of === undefined) {
        const path = { name: textOf(values['name']) };
        const body = providerBody(values, values);
        return kind === 'oidc' ? putOidcProvider({ path, body }) : putSamlProvider({ path, body });
      }
      const body = providerBody(changedValues(fields, values), values);
      const query = values['confirmOwn'] === true ? { confirm: of.name } : {};
      const order = { path: { name: of.name }, query, body, headers: ifMatch(of.version) };
      return kind === 'oidc' ? changeOidcProvider(order) : changeSamlProvider(order);
    },
    { ...CHANGES, done: t('saved') },
  );
  return (
    <FormDialog
      title={of?.label ?? t(`sso.add.${kind}`)}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={fields}
    >
      {of !== undefined && <ServiceAddresses of={of} />}
    </FormDialog>
  );
}

/** ServiceAddresses shows the URLs of this service that must be registered with the provider. */
function ServiceAddresses({ of: { kind, name, redirectUri } }: { of: IdentityProviderView }) {
  const { t } = useI18n();
  const { origin } = new URL(redirectUri);
  const metadata = `${origin}/api/auth/saml/metadata`;
  const address = <Copyable key="a" text={redirectUri} />;
  return kind === 'oidc' ? (
    <Facts facts={[[t('sso.redirectUri'), address]]} />
  ) : (
    <Facts
      facts={[
        [t('sso.acs'), address],
        [t('sso.ourEntityId'), <Copyable key="e" text={metadata} />],
        [t('sso.metadata'), <Copyable key="m" text={`${metadata}?provider=${name}`} />],
      ]}
    />
  );
}

interface RemoveProviderProps {
  readonly of: IdentityProviderView;
  readonly onClose: () => void;
}

export function RemoveProvider({ of: { name, label, enabled }, onClose }: RemoveProviderProps) {
  const { t } = useI18n();
  const action = useAction(
    ({ confirmOwn }: Values) =>
      removeIdentityProvider({ path: { name }, query: confirmOwn === true ? { confirm: name } : {} }),
    { ...CHANGES, done: t('removed') },
  );
  const confirm = {
    name: 'confirmOwn',
    kind: 'yes',
    label: t('sso.confirmOwn'),
    hint: t('sso.confirmOwn.hint'),
  } as const;
  return (
    <FormDialog
      title={t('remove')}
      lead={t('sso.remove.lead', { name: label })}
      submit={t('remove')}
      isDanger
      action={action}
      onClose={onClose}
      fields={enabled ? [confirm] : []}
    />
  );
}
