import { useQuery } from '@tanstack/react-query';
import { getSshKeyOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { Go } from '../../patterns/go.js';

/** An SSH key by comment or fingerprint. */
export function SshKeyLink({ id }: { id: string }) {
  const { data } = useQuery(getSshKeyOptions({ path: { id } }));
  return <Go to={`/ssh-keys/${id}`}>{data?.comment ?? data?.fingerprint ?? id}</Go>;
}
