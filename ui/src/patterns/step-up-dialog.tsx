import { Button, Form, FormGroup, Modal, ModalBody, ModalFooter, ModalHeader, TextInput } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { type SyntheticEvent, useState } from 'react';
import { listSessionsOptions } from '../api/generated/@tanstack/react-query.gen.js';
import { stepUp } from '../api/generated/sdk.gen.js';
import type { StepUpBody } from '../api/generated/types.gen.js';
import { signWithPasskey, hasPasskeys } from '../api/passkeys.js';
import { type ApiProblem, problemOf } from '../api/problem.js';
import { confirmAtProvider } from '../api/provider-step-up.js';
import { useSession } from '../app/session.js';
import { useI18n } from '../i18n/i18n.js';
import { Busy } from './busy.js';
import { Problem } from './problem.js';

const FORM = 'step-up';
const SIGN_ON = ['oidc', 'saml'];

interface StepUpProps {
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

/** StepUpDialog performs step-up authentication (RFC 9470) with the method that the person signed in with. */
export function StepUpDialog(props: StepUpProps) {
  const { t } = useI18n();
  const { data, isPending } = useQuery(listSessionsOptions());
  const way = data?.items.find(({ current }) => current)?.way ?? 'password';
  return (
    <Modal isOpen variant="small" onClose={props.onCancel} aria-labelledby="step-up-title">
      <ModalHeader title={t('stepUp.title')} labelId="step-up-title" description={t('stepUp.reason')} />
      {isPending ? <Busy /> : SIGN_ON.includes(way) ? <ProviderStepUp {...props} /> : <PasswordStepUp {...props} />}
    </Modal>
  );
}

/** ProviderStepUp sends people without a local password to their identity provider. */
function ProviderStepUp({ onCancel }: StepUpProps) {
  const { t } = useI18n();
  const [error, setError] = useState<ApiProblem>();
  const [isLeaving, setLeaving] = useState(false);
  const leave = () => {
    setLeaving(true);
    confirmAtProvider().catch((cause: unknown) => {
      setLeaving(false);
      setError(problemOf(cause));
    });
  };
  return (
    <>
      <ModalBody>{error === undefined ? t('stepUp.provider') : <Problem error={error} />}</ModalBody>
      <ModalFooter>
        <Button onClick={leave} isLoading={isLeaving} isDisabled={isLeaving}>
          {t('stepUp.toProvider')}
        </Button>
        <Button variant="link" onClick={onCancel}>
          {t('cancel')}
        </Button>
      </ModalFooter>
    </>
  );
}

/** PasswordStepUp asks for the password and for the code or passkey, if one is set up. */
function PasswordStepUp({ onDone, onCancel }: StepUpProps) {
  const { t } = useI18n();
  const [password, setPassword] = useState('');
  const [code, setCode] = useState<string>();
  const [error, setError] = useState<ApiProblem>();
  const { caller } = useSession();
  const show = (factor: () => Promise<Partial<StepUpBody>>) => {
    setError(undefined);
    factor()
      .then((shown) => stepUp({ body: { password, ...shown } }))
      .then(onDone, (cause: unknown) => {
        const problem = problemOf(cause);
        if (problem.code === 'auth.second-factor-needed') setCode('');
        else setError(problem);
      });
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    show(() => Promise.resolve(code === undefined ? {} : { totp: code.trim() }));
  };
  const withPasskey = () => show(async () => ({ passkey: await signWithPasskey(caller?.name ?? '', password) }));
  return (
    <>
      <ModalBody>
        <Form id={FORM} onSubmit={submit}>
          {error !== undefined && <Problem error={error} />}
          <FormGroup label={t('signIn.password')} fieldId="step-up-password" isRequired>
            <TextInput
              id="step-up-password"
              type="password"
              autoComplete="current-password"
              autoFocus
              isRequired
              value={password}
              onChange={(_event, value) => setPassword(value)}
            />
          </FormGroup>
          {code !== undefined && (
            <FormGroup label={t('signIn.code')} fieldId="step-up-code" isRequired>
              <TextInput
                id="step-up-code"
                autoComplete="one-time-code"
                inputMode="numeric"
                autoFocus
                isRequired
                value={code}
                onChange={(_event, value) => setCode(value)}
              />
            </FormGroup>
          )}
        </Form>
      </ModalBody>
      <ModalFooter>
        <Button type="submit" form={FORM}>
          {t('continue')}
        </Button>
        {code !== undefined && hasPasskeys() && (
          <Button variant="secondary" onClick={withPasskey}>
            {t('signIn.usePasskey')}
          </Button>
        )}
        <Button variant="link" onClick={onCancel}>
          {t('cancel')}
        </Button>
      </ModalFooter>
    </>
  );
}
