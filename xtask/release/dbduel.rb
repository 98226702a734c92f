class Dbduel < Formula
  desc "Compares database servers in paired, interleaved trials"
  homepage "{URL}"
  url "{URL}/{FILE}"
  version "{VERSION}"
  sha256 "{SHA256}"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on arch: :{BREW}
  depends_on :linux

  def install
    prefix.install Dir["*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/dbduel --version")
  end
end
