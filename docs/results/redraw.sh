# Make the tables and figures of this folder again from data, without training:
# `sh docs/results/redraw.sh` in the repository's folder. Where results/corpora has the references,
# the translations are tested for significant differences again.
# data is what `python docs/results/collect.py --output docs/results/data` made of results/runs.
set -e
folder=docs/results
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# compare REPRODUCTION TABLE CORPUS SPLIT LANGUAGE METRIC...
compare() {
    significance=$folder/data/significance/$1.$2.json corpus=$3 split=$4 language=$5
    shift 5
    references=results/corpora/$corpus/raw/$split.$language
    test -e "$references" || return 0
    rm -rf "$scratch/$corpus"
    mkdir "$scratch/$corpus"
    tar -xJf "$folder/data/$corpus.tar.xz" -C "$scratch/$corpus"
    translations=$(ls "$scratch/$corpus"/*/*/"$split".translations.txt)
    names=$(ls "$scratch/$corpus"/*/*/"$split".translations.txt | rev | cut -d/ -f3 | rev)
    python src/compare.py --translations $translations --names $names --references "$references" \
        --target-language "$language" --metrics "$@" --output "$significance"
}

# typeset REPRODUCTION TABLE...
typeset() {
    reproduction=$1
    shift
    for table; do
        significance=$folder/data/significance/$reproduction.$table.json
        test -e "$significance" || significance=
        python src/typeset.py --reproduction "config/$reproduction.yaml" --table "$table" \
            --runs $folder/data ${significance:+--significance "$significance"} \
            --markdown "$folder/tables/$reproduction.$table.md" \
            --csv "$scratch/csv" --latex "$scratch/tex"
    done
}

# plot REPRODUCTION TABLE FIGURE...
plot() {
    reproduction=$1 table=$2
    shift 2
    for figure; do
        python src/plot.py --reproduction "config/$reproduction.yaml" --table "$table" \
            --runs $folder/data --figure "$figure" --pdf "$scratch/pdf" --csv "$scratch/csv" \
            --png "$folder/figures/$reproduction.$table.$figure.png"
    done
}

compare multi30k-families families multi30k-en-de test_2016_flickr de \
    lowercased_tokenized_bleu chrf ter bleu
compare multi30k-families dev multi30k-en-de dev de lowercased_tokenized_bleu
compare tatoeba-en-de families tatoeba-en-de test de bleu chrf ter
compare demo-families families demo test de bleu chrf ter
typeset multi30k-families families dev
typeset multi30k-en-de table3 positions embeddings-and-activations subwords decoder-only norms
typeset multi30k-claims reversal norms subwords positions scores lengths report
typeset tatoeba-en-de systems families news hunger
for part in eighth quarter half; do typeset tatoeba-$part hunger; done
typeset tatoeba-quarter rates
typeset demo-families families gnmt
plot multi30k-families families learning-curves bleu-by-length cost
plot multi30k-en-de table3 differences
plot multi30k-en-de norms learning-curves
python src/check_claims.py --claims config/claims.yaml --runs $folder/data --output docs/claims.md
