import { Button, Form, FormGroup, Modal, ModalBody, ModalFooter, ModalHeader, TextInput } from '@patternfly/react-core';
import { createContext, type ReactNode, type SyntheticEvent, use, useCallback, useMemo, useRef, useState } from 'react';
import { stepUp } from '../api/generated/sdk.gen.js';
import { askPasskey, hasPasskeys } from '../api/passkeys.js';
import { type ApiProblem, problemOf } from '../api/problem.js';
import type { StepUpBody } from '../api/generated/types.gen.js';
import { useSession } from '../app/session.js';
import { useI18n } from '../i18n/i18n.js';
import { Problem } from './problem.js';

type Guarded = <Result>(work: () => Promise<Result>) => Promise<Result>;

const Context = createContext<Guarded | undefined>(undefined);
const FORM = 'step-up';

/**
 * What matters wants a person who has shown who they are within five minutes. When the service says so, this asks for the
 * password (and the code, where there is one) and then goes on with what was to be done.
 */
export function StepUp({ children }: { children: ReactNode }) {
  const waiting = useRef<{ go: () => void; stop: (error: unknown) => void }>(undefined);
  const [error, setError] = useState<ApiProblem>();
  const guarded = useCallback<Guarded>(async (work) => {
    try {
      return await work();
    } catch (cause) {
      const problem = problemOf(cause);
      if (problem.code !== 'auth.step-up') throw problem;
      await new Promise<void>((go, stop) => {
        waiting.current = { go, stop };
        setError(problem);
      });
      return work();
    }
  }, []);
  const value = useMemo(() => guarded, [guarded]);
  return (
    <Context value={value}>
      {children}
      {error !== undefined && (
        <StepUpDialog
          onDone={() => {
            setError(undefined);
            waiting.current?.go();
          }}
          onCancel={() => {
            setError(undefined);
            waiting.current?.stop(error);
          }}
        />
      )}
    </Context>
  );
}

function StepUpDialog({ onDone, onCancel }: { onDone: () => void; onCancel: () => void }) {
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
  const withPasskey = () => show(async () => ({ passkey: await askPasskey(caller?.name ?? '', password) }));
  return (
    <Modal isOpen variant="small" onClose={onCancel} aria-labelledby="step-up-title">
      <ModalHeader title={t('stepUp.title')} labelId="step-up-title" description={t('stepUp.why')} />
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
    </Modal>
  );
}

export function useGuarded(): Guarded {
  const guarded = use(Context);
  if (guarded === undefined) throw new Error('outside of StepUp');
  return guarded;
}
