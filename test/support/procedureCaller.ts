/** Calls a procedure over `/v2`. */
export const procedureCaller =
  (url: string, rootKey: string): ((procedure: string, body: object) => Promise<Record<string, string>>) =>
  async (procedure, body) => {
    const response = await fetch(`${url}/v2/${procedure}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${rootKey}` },
      body: JSON.stringify(body),
    });
    const { data, error } = (await response.json()) as { readonly data: Record<string, string>; readonly error?: object };
    if (error) throw new Error(`${procedure}: ${JSON.stringify(error)}`);
    return data;
  };
