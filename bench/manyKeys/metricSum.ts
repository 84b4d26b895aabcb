/** The sum of a metric of a service over all labels that `labels` matches. */
export const metricSum = async (adminUrl: string, name: string, labels = ""): Promise<number> => {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return [...text.matchAll(new RegExp(`^${name}\\{.*${labels}.*\\} (\\d+)$`, "gm"))].reduce((sum, [, value]) => sum + Number(value), 0);
};
